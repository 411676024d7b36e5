import type { Hex } from "viem";
import { type Mark, markTopic, maxTokensPerLog } from "../../schema/marked-logs.ts";
import { type RpcLog, topicOf } from "./proven-logs.ts";

/** Rows that all contracts together may add with one event in one block; an honest block has a tenth. */
const maxRowsPerBlock = 100_000;
const maxRangeUpdates = 64;

const uri = topicOf("URI(string,uint256)");
const rangeUpdate = topicOf("BatchMetadataUpdate(uint256,uint256)");
/** What each kind of them has as data, where its texts are empty. */
const contractUpdates = new Map<Hex, Hex>([
  [topicOf("ContractURIUpdated()"), "0x"],
  [topicOf("ContractURIUpdated(string,string)"), emptyPair()],
]);
const oneUpdate = topicOf("MetadataUpdate(uint256)");
const batch = topicOf("TransferBatch(address,address,address,uint256[],uint256[])");
/** Where a movement's log has an address to mark, and how many words its data needs. */
const movements = new Map<Hex, { mark: number; words: number }>([
  [topicOf("Transfer(address,address,uint256)"), { mark: 1, words: 0 }],
  [topicOf("TransferSingle(address,address,address,uint256,uint256)"), { mark: 1, words: 2 }],
  [batch, { mark: 1, words: 4 }],
  [topicOf("ConsecutiveTransfer(uint256,uint256,address,address)"), { mark: 2, words: 1 }],
]);
const word = (value: bigint) => value.toString(16).padStart(64, "0");
const max = (1n << 256n) - 1n;
const emptyArrays = emptyPair();

/** Two empty arrays, or texts. */
function emptyPair(): Hex {
  return `0x${[64n, 96n, 0n, 0n].map((value) => value.toString(16).padStart(64, "0")).join("")}`;
}

/**
 * Makes a node's logs bearable before Ponder sees them, by rules that look at one block only, so that
 * indexing again gives the same rows:
 *
 * - What Ponder's decoder would skip without a word becomes a log that decodes and is marked, and so
 *   a row of `rejected_log`, which goes again when a reorg takes the block.
 * - A contract that moves more than 10,000 tokens with one event in one block is left out there but
 *   for one marked log; so are the largest when all together move more than 100,000. A range (ERC-2309) counts as one:
 *   it is one row, and how many of its tokens get rows is decided there (schema/range-allowance.ts).
 * - Texts of `URI` and `ContractURIUpdated` are emptied (metadata is read from the chain, by the worker), a storm of
 *   metadata updates becomes one of all tokens, and one of updates of a contract becomes one.
 */
export function markHostileLogs(result: unknown): unknown {
  if (!Array.isArray(result)) return result;
  const logs = (result as RpcLog[]).map(readable);
  const groups = Map.groupBy(logs, (log) => `${log.blockHash}${log.topics?.[0]}`);
  const dropped = new Set<RpcLog>();
  const replaced = new Map<RpcLog, RpcLog>();
  for (const group of groups.values()) {
    if (group.length <= maxRangeUpdates && group.every((log) => weight(log) === 1)) continue;
    for (const { first, rest, by } of excessOf(group)) {
      replaced.set(first, by);
      for (const log of rest) dropped.add(log);
    }
  }
  return logs.filter((log) => !dropped.has(log)).map((log) => replaced.get(log) ?? log);
}

interface Excess {
  first: RpcLog;
  rest: RpcLog[];
  by: RpcLog;
}

function excessOf(group: readonly RpcLog[]): Excess[] {
  const topic = group[0]?.topics?.[0];
  const contracts = [...Map.groupBy(group, (log) => log.address).values()]
    .map((logs) => ({ logs, total: logs.reduce((sum, log) => sum + weight(log), 0) }))
    .sort((a, b) => a.total - b.total || (a.logs[0]?.address ?? "").localeCompare(b.logs[0]?.address ?? ""));
  let sum = 0;
  return contracts.flatMap(({ logs, total }) => {
    const [first, ...rest] = logs;
    if (!first) return [];
    if (topic === rangeUpdate && logs.length > maxRangeUpdates)
      return [{ first, rest, by: { ...first, data: `0x${word(0n)}${word(max)}` } }];
    if (contractUpdates.has(topic ?? "0x")) return [{ first, rest, by: first }];
    if (topic === oneUpdate) return [{ first, rest: logs.slice(maxTokensPerLog), by: first }];
    if (!movements.has(topic ?? "0x")) return [];
    sum += total;
    if (total <= maxTokensPerLog && sum <= maxRowsPerBlock) return [];
    sum -= total;
    return [{ first, rest, by: marked(first, "suspended", total) }];
  });
}

/** Rows that the log makes in the ledger. */
function weight(log: RpcLog): number {
  const topic = log.topics?.[0] ?? "0x";
  if (typeof log.data !== "string") return 1;
  return topic === batch ? Math.max(1, (log.data.length - 2) / 64 / 2 - 2) : 1;
}

function readable(log: RpcLog): RpcLog {
  const [topic] = log.topics ?? [];
  // With verification off an entry can be anything; Ponder says what is wrong with it.
  if (topic === undefined || typeof log.data !== "string") return log;
  if (topic === uri) return log.topics.length === 2 ? { ...log, data: `0x${word(32n)}${word(0n)}` } : log;
  const ofContract = contractUpdates.get(topic);
  if (ofContract) return { ...log, topics: [topic], data: ofContract };
  const movement = movements.get(topic);
  if (!movement || log.topics.length !== 4) return log;
  if (log.data.length < 2 + movement.words * 64) return marked(log, "undecodable", (log.data.length - 2) / 2);
  if (topic !== batch) return log;
  const ids = readArray(log.data, 0);
  const values = readArray(log.data, 1);
  if (!ids || !values) return marked(log, "undecodable", (log.data.length - 2) / 2);
  // Always in the one form that every decoder reads, wherever the offsets pointed.
  const heads = [64n, BigInt(96 + (ids.length / 64) * 32)].map(word).join("");
  const list = (items: string) => word(BigInt(items.length / 64)) + items;
  return { ...log, data: `0x${heads}${list(ids)}${list(values)}` };
}

function marked(log: RpcLog, mark: Mark, count: number): RpcLog {
  const topics = [...log.topics];
  const { mark: index, words } = movements.get(topics[0] ?? "0x") ?? { mark: 1, words: 0 };
  topics[index] = markTopic(mark, count);
  return { ...log, topics, data: topics[0] === batch ? emptyArrays : `0x${word(0n).repeat(words)}` };
}

/** The entries of an array of words as hex digits; null when they are not there or too many. */
function readArray(data: Hex, index: number): string | null {
  const at = (position: number) => data.slice(2 + position * 64, 2 + (position + 1) * 64);
  const offset = BigInt(`0x${at(index)}`);
  if (offset % 32n !== 0n || offset > BigInt(data.length)) return null;
  const start = Number(offset / 32n);
  const size = at(start);
  if (size.length !== 64) return null;
  const length = BigInt(`0x${size}`);
  if (length > BigInt(maxTokensPerLog)) return null;
  const entries = data.slice(2 + (start + 1) * 64, 2 + (start + 1 + Number(length)) * 64);
  return entries.length === Number(length) * 64 ? entries : null;
}
