import { onchainTable, primaryKey } from "ponder";

/** The usual design: present state as rows that each event updates. */
export const token = onchainTable(
  "token",
  (t) => ({
    contract: t.hex().notNull(),
    tokenId: t.bigint().notNull(),
    owner: t.hex().notNull(),
    transfers: t.integer().notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.contract, table.tokenId] }) }),
);

export const account = onchainTable("account", (t) => ({
  address: t.hex().primaryKey(),
  tokens: t.integer().notNull(),
}));

export const transfer = onchainTable("transfer", (t) => ({
  id: t.text().primaryKey(),
  contract: t.hex().notNull(),
  tokenId: t.bigint().notNull(),
  from: t.hex().notNull(),
  to: t.hex().notNull(),
  blockNumber: t.bigint().notNull(),
}));
