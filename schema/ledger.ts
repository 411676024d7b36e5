import { onchainTable, primaryKey } from "ponder";

/*
 * The ledger of one chain: what its logs said, one row per fact, only ever inserted. Ponder undoes a
 * reorg by deleting rows, and the triggers of derived-state.ts follow. Table and column names are
 * used by derived-state.ts, read-indexes.ts and nft-views.ts.
 */

/** One token that moved; `batchIndex` counts inside a log that moves several. */
export const transfer = onchainTable(
  "transfer",
  (t) => ({
    blockNumber: t.int8({ mode: "bigint" }).notNull(),
    logIndex: t.integer().notNull(),
    batchIndex: t.integer().notNull(),
    blockHash: t.bytes().notNull(),
    blockTimestamp: t.int8({ mode: "bigint" }).notNull(),
    txHash: t.bytes().notNull(),
    txFrom: t.bytes().notNull(),
    contract: t.bytes().notNull(),
    tokenId: t.bigint().notNull(),
    fromAddress: t.bytes().notNull(),
    toAddress: t.bytes().notNull(),
    operator: t.bytes(),
    amount: t.bigint().notNull(),
    standard: t.text().$type<"ERC721" | "ERC1155">().notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.blockNumber, table.logIndex, table.batchIndex] }) }),
);

/** A collection that our factory created. */
export const collection = onchainTable(
  "collection",
  (t) => ({
    blockNumber: t.int8({ mode: "bigint" }).notNull(),
    logIndex: t.integer().notNull(),
    blockHash: t.bytes().notNull(),
    blockTimestamp: t.int8({ mode: "bigint" }).notNull(),
    txHash: t.bytes().notNull(),
    address: t.bytes().notNull(),
    owner: t.bytes().notNull(),
    intentId: t.bytes().notNull(),
    factory: t.bytes().notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.blockNumber, table.logIndex] }) }),
);

/** The contract says that metadata of these tokens changed; both ends belong to the range. */
export const metadataUpdate = onchainTable(
  "metadata_update",
  (t) => ({
    blockNumber: t.int8({ mode: "bigint" }).notNull(),
    logIndex: t.integer().notNull(),
    blockTimestamp: t.int8({ mode: "bigint" }).notNull(),
    contract: t.bytes().notNull(),
    fromTokenId: t.bigint().notNull(),
    toTokenId: t.bigint().notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.blockNumber, table.logIndex] }) }),
);

/** A log of a known event that could not become ledger rows, with the reason. */
export const quarantine = onchainTable(
  "quarantine",
  (t) => ({
    blockNumber: t.int8({ mode: "bigint" }).notNull(),
    logIndex: t.integer().notNull(),
    blockTimestamp: t.int8({ mode: "bigint" }).notNull(),
    txHash: t.bytes().notNull(),
    contract: t.bytes().notNull(),
    event: t.text().notNull(),
    reason: t.text().notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.blockNumber, table.logIndex] }) }),
);
