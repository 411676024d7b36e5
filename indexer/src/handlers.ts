import { type Context, ponder } from "ponder:registry";
import { collection, contractUpdate, metadataUpdate, product, rejectedLog, tokenRange, transfer } from "ponder:schema";
import type { Hex } from "viem";
import { toBytea } from "../../schema/bytea-column.ts";
import { easyIntent } from "../../schema/nft-events.ts";
import {
  decodeConsecutiveTransfer,
  decodeTransfer,
  decodeTransferBatch,
  decodeTransferSingle,
  type Movement,
} from "./movements.ts";
import { dataWord, type RawLog, topicAddress, topicWord, Undecodable } from "./raw-log.ts";

interface LogEvent {
  block: { number: bigint; hash: Hex; timestamp: bigint };
  transaction: { hash: Hex; from: Hex };
  log: { address: Hex; logIndex: number; topics: readonly Hex[]; data: Hex };
}

interface Occurrence {
  event: LogEvent;
  context: Context;
}

ponder.on("Nft:Transfer", (occurrence) => recordMovements(occurrence, "Transfer", decodeTransfer));
ponder.on("Nft:TransferSingle", (occurrence) => recordMovements(occurrence, "TransferSingle", decodeTransferSingle));
ponder.on("Nft:TransferBatch", (occurrence) => recordMovements(occurrence, "TransferBatch", decodeTransferBatch));
ponder.on("Nft:ConsecutiveTransfer", recordRange);

ponder.on("Nft:MetadataUpdate", (occurrence) =>
  recordMetadataUpdate(occurrence, "MetadataUpdate", (log) => [dataWord(log, 0), dataWord(log, 0)]),
);
ponder.on("Nft:BatchMetadataUpdate", (occurrence) =>
  recordMetadataUpdate(occurrence, "BatchMetadataUpdate", (log) => [dataWord(log, 0), dataWord(log, 1)]),
);
ponder.on("Nft:URI", (occurrence) =>
  recordMetadataUpdate(occurrence, "URI", (log) => [topicWord(log, 1), topicWord(log, 1)]),
);

ponder.on("Nft:ContractURIUpdated()", recordContractUpdate);
ponder.on("Nft:ContractURIUpdated(string prevURI, string newURI)", recordContractUpdate);

ponder.on("Factory:CollectionDeployed", async ({ event, context }) => {
  const { contract: factory, ...deployed } = deploymentOf(event);
  await context.db.insert(collection).values({ ...deployed, factory });
});

ponder.on("Operator:ProductDeployed", async ({ event, context }) => {
  const { contract: operator, ...deployed } = deploymentOf(event);
  if (deployed.intentId !== toBytea(easyIntent)) await context.db.insert(product).values({ ...deployed, operator });
});

/** No guard: the contract is ours. A log of it that does not decode shall stop the indexer. */
function deploymentOf(event: LogEvent) {
  const { log, txFrom: _, ...position } = positionOf(event);
  const intent = topicWord(log, 1).toString(16).padStart(64, "0");
  return { ...position, intentId: toBytea(`0x${intent}`), address: topicAddress(log, 2), owner: topicAddress(log, 3) };
}

async function recordMovements({ event, context }: Occurrence, name: string, decode: (log: RawLog) => Movement[]) {
  const { log, ...position } = positionOf(event);
  const movements = attempt(() => decode(log));
  if (movements instanceof Undecodable) return reject(context, position, name, movements);
  // What a batch names without moving any of it costs its sender next to nothing. A log of its own announces a token.
  const rows = movements
    .map((movement, batchIndex) => ({ ...position, batchIndex, ...movement }))
    .filter(({ amount }) => amount > 0n || movements.length === 1);
  if (rows.length > 0) await context.db.insert(transfer).values(rows);
}

async function recordRange({ event, context }: Occurrence) {
  const { log, ...position } = positionOf(event);
  const range = attempt(() => decodeConsecutiveTransfer(log));
  if (range instanceof Undecodable) return reject(context, position, "ConsecutiveTransfer", range);
  const isRange = range.amount > 1n;
  await context.db.insert(transfer).values({ ...position, batchIndex: isRange ? -1 : 0, ...range });
  if (isRange)
    await context.db.insert(tokenRange).values({ blockNumber: position.blockNumber, logIndex: position.logIndex });
}

async function recordMetadataUpdate(
  { event, context }: Occurrence,
  name: string,
  decode: (log: RawLog) => [bigint, bigint],
) {
  const { log, ...position } = positionOf(event);
  const range = attempt(() => decode(log));
  if (range instanceof Undecodable) return reject(context, position, name, range);
  const [fromTokenId, toTokenId] = range;
  if (fromTokenId > toTokenId)
    return reject(context, position, name, new Undecodable("the range ends before it begins"));
  const { blockNumber, logIndex, blockTimestamp, contract } = position;
  const row = { blockNumber, logIndex, blockTimestamp, contract, fromTokenId, toTokenId };
  await context.db.insert(metadataUpdate).values(row);
}

async function recordContractUpdate({ event, context }: Occurrence) {
  const { blockNumber, logIndex, blockTimestamp, contract } = positionOf(event);
  await context.db.insert(contractUpdate).values({ blockNumber, logIndex, blockTimestamp, contract });
}

/**
 * Reads all of the event that handlers use, outside of any `catch`: Ponder loads event fields at
 * first sight by throwing an error of its own, which has to reach it.
 */
function positionOf({ block, transaction, log }: LogEvent) {
  return {
    blockNumber: block.number,
    blockHash: toBytea(block.hash),
    blockTimestamp: block.timestamp,
    txHash: toBytea(transaction.hash),
    txFrom: toBytea(transaction.from),
    logIndex: log.logIndex,
    contract: toBytea(log.address),
    log: { topics: log.topics, data: log.data },
  };
}

/** A third party's log must not stop the indexer, whatever it does to the decoder. */
function attempt<T>(decode: () => T): T | Undecodable {
  try {
    return decode();
  } catch (error) {
    return error instanceof Undecodable ? error : new Undecodable(`decoder failed: ${String(error).slice(0, 200)}`);
  }
}

async function reject(
  context: Context,
  position: Omit<ReturnType<typeof positionOf>, "log">,
  event: string,
  { message: reason }: Undecodable,
) {
  const { blockNumber, logIndex, blockTimestamp, txHash, contract } = position;
  await context.db
    .insert(rejectedLog)
    .values({ blockNumber, logIndex, blockTimestamp, txHash, contract, event, reason });
}
