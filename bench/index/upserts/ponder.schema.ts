import { onchainTable, primaryKey } from "ponder";

// The same facts as our ledger and our derived state, in the way that Ponder's documentation shows.
export const transfer = onchainTable(
  "transfer",
  (t) => ({
    blockNumber: t.bigint().notNull(),
    logIndex: t.integer().notNull(),
    batchIndex: t.integer().notNull(),
    blockHash: t.hex().notNull(),
    blockTimestamp: t.bigint().notNull(),
    txHash: t.hex().notNull(),
    txFrom: t.hex().notNull(),
    contract: t.hex().notNull(),
    tokenId: t.bigint().notNull(),
    from: t.hex().notNull(),
    to: t.hex().notNull(),
    operator: t.hex(),
    amount: t.bigint().notNull(),
    standard: t.text().notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.blockNumber, table.logIndex, table.batchIndex] }) }),
);

export const token = onchainTable(
  "token",
  (t) => ({
    contract: t.hex().notNull(),
    tokenId: t.bigint().notNull(),
    owner: t.hex(),
    transfers: t.integer().notNull(),
    lastBlock: t.bigint().notNull(),
    lastLogIndex: t.integer().notNull(),
    mintBlock: t.bigint(),
    mintLogIndex: t.integer(),
    mintTimestamp: t.bigint(),
    mintTx: t.hex(),
    creator: t.hex(),
    breaks: t.integer().notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.contract, table.tokenId] }) }),
);

export const account = onchainTable("account", (t) => ({
  owner: t.hex().primaryKey(),
  tokens: t.integer().notNull(),
}));

export const contract = onchainTable("contract", (t) => ({
  address: t.hex().primaryKey(),
  firstBlock: t.bigint().notNull(),
  transfers: t.integer().notNull(),
  tokens: t.integer().notNull(),
  tokensEver: t.integer().notNull(),
  inconsistent: t.integer().notNull(),
}));
