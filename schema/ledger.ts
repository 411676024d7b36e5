import { onchainTable, primaryKey } from "ponder";
import { bytea } from "./bytea-column.ts";

/*
 * The ledger of one chain: what its logs reported, one row per fact, only ever inserted. Ponder undoes a
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
    blockHash: bytea().notNull(),
    blockTimestamp: t.int8({ mode: "bigint" }).notNull(),
    txHash: bytea().notNull(),
    txFrom: bytea().notNull(),
    contract: bytea().notNull(),
    tokenId: t.bigint().notNull(),
    fromAddress: bytea().notNull(),
    toAddress: bytea().notNull(),
    operator: bytea(),
    amount: t.bigint().notNull(),
    standard: t.text().$type<"ERC721" | "ERC1155">().notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.blockNumber, table.logIndex, table.batchIndex] }) }),
);

/**
 * Where a log reported a range of tokens (ERC-2309). The handler writes the range as one row of `transfer` with batch index -1
 * and the number of tokens as amount; a trigger replaces that row by its tokens, or by none (range-allowance.ts). When a
 * reorg takes this row, what was recorded of the range goes too.
 */
export const tokenRange = onchainTable(
  "token_range",
  (t) => ({ blockNumber: t.int8({ mode: "bigint" }).notNull(), logIndex: t.integer().notNull() }),
  (table) => ({ pk: primaryKey({ columns: [table.blockNumber, table.logIndex] }) }),
);

/** A collection that our factory created. */
export const collection = onchainTable(
  "collection",
  (t) => ({
    blockNumber: t.int8({ mode: "bigint" }).notNull(),
    logIndex: t.integer().notNull(),
    blockHash: bytea().notNull(),
    blockTimestamp: t.int8({ mode: "bigint" }).notNull(),
    txHash: bytea().notNull(),
    address: bytea().notNull(),
    owner: bytea().notNull(),
    intentId: bytea().notNull(),
    factory: bytea().notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.blockNumber, table.logIndex] }) }),
);

/**
 * A product contract that an operator deployed for a client, and the owner it was deployed for: the creator of its tokens
 * (product-owners.ts). Later owners change nothing here. The contract of easy mints is none: it belongs to the service.
 */
export const product = onchainTable("product", (t) => ({
  blockNumber: t.int8({ mode: "bigint" }).notNull(),
  logIndex: t.integer().notNull(),
  blockHash: bytea().notNull(),
  blockTimestamp: t.int8({ mode: "bigint" }).notNull(),
  txHash: bytea().notNull(),
  // Deployed once, since its address commits to an intent that is done once; mints look it up from the first block on.
  address: bytea().primaryKey(),
  owner: bytea().notNull(),
  intentId: bytea().notNull(),
  operator: bytea().notNull(),
}));

/** The contract says that metadata of these tokens changed; both ends belong to the range. */
export const metadataUpdate = onchainTable(
  "metadata_update",
  (t) => ({
    blockNumber: t.int8({ mode: "bigint" }).notNull(),
    logIndex: t.integer().notNull(),
    blockTimestamp: t.int8({ mode: "bigint" }).notNull(),
    contract: bytea().notNull(),
    fromTokenId: t.bigint().notNull(),
    toTokenId: t.bigint().notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.blockNumber, table.logIndex] }) }),
);

/** The contract says that what it tells of itself changed: its document, and with it often its royalty or name. */
export const contractUpdate = onchainTable(
  "contract_update",
  (t) => ({
    blockNumber: t.int8({ mode: "bigint" }).notNull(),
    logIndex: t.integer().notNull(),
    blockTimestamp: t.int8({ mode: "bigint" }).notNull(),
    contract: bytea().notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.blockNumber, table.logIndex] }) }),
);

/** A log of a known event that could not become ledger rows, with the reason. */
export const rejectedLog = onchainTable(
  "rejected_log",
  (t) => ({
    blockNumber: t.int8({ mode: "bigint" }).notNull(),
    logIndex: t.integer().notNull(),
    blockTimestamp: t.int8({ mode: "bigint" }).notNull(),
    txHash: bytea().notNull(),
    contract: bytea().notNull(),
    event: t.text().notNull(),
    reason: t.text().notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.blockNumber, table.logIndex] }) }),
);
