import { onchainTable, primaryKey } from "ponder";

// The same facts as our ledger and our derived state, in the way that Ponder's documentation shows.
export const transfer = onchainTable(
  "transfer",
  (t) => ({
    blockNumber: t.bigint().notNull(),
    logIndex: t.integer().notNull(),
    timestamp: t.bigint().notNull(),
    txHash: t.hex().notNull(),
    contract: t.hex().notNull(),
    tokenId: t.bigint().notNull(),
    from: t.hex().notNull(),
    to: t.hex().notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.blockNumber, table.logIndex] }) }),
);

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

export const holder = onchainTable(
  "holder",
  (t) => ({ contract: t.hex().notNull(), owner: t.hex().notNull(), tokens: t.integer().notNull() }),
  (table) => ({ pk: primaryKey({ columns: [table.contract, table.owner] }) }),
);

export const contract = onchainTable("contract", (t) => ({
  address: t.hex().primaryKey(),
  transfers: t.integer().notNull(),
  tokens: t.integer().notNull(),
}));
