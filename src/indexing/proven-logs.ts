import { type Hex, keccak256 } from "viem";
import { type Header, isHex, receiptsRoot, type TrieReceipt } from "./header.ts";
import { NodeRefusal, Refused } from "./json-rpc.ts";
import { type RpcUpstreams, unsupportedCode } from "./rpc-upstreams.ts";

/** A log as nodes send it, after `checkLog`. */
export interface RpcLog {
  address: Hex;
  topics: Hex[];
  data: Hex;
  blockHash: Hex;
  blockNumber: Hex;
  transactionHash: Hex;
  transactionIndex: Hex;
  logIndex: Hex;
  removed?: boolean;
}

export interface LogFilter {
  address?: string | readonly string[];
  topics?: readonly (string | null | readonly string[])[];
  fromBlock?: string;
  toBlock?: string;
  blockHash?: string;
}

/**
 * All logs of one block, proved to be exactly those that its header commits to: none dropped, duplicated, swapped or
 * taken from a sibling block.
 *
 * @param except hash of a transaction that the header does not commit to; its logs are left out. `once`: receipts that
 *   prove nothing are no fault of the endpoint, and are not requested again.
 * @throws Refused, UnusableAnswer
 */
export async function fetchProvenLogs(
  upstreams: RpcUpstreams,
  header: Header,
  signal: AbortSignal,
  { except, once = false }: { except?: Hex; once?: boolean } = {},
): Promise<RpcLog[]> {
  // Computing the root is most of the cost of a proof, so it is done once per answer.
  let proven: { of: unknown; receipts: TrieReceipt[] } | null = null;
  const prove = (result: unknown): TrieReceipt[] => {
    if (proven && proven.of === result) return proven.receipts;
    const all = Array.isArray(result) ? (result as Partial<TrieReceipt>[]) : null;
    const receipts = all?.filter(({ transactionHash }) => !except || transactionHash !== except);
    checkReceipts(receipts, header);
    proven = { of: result, receipts };
    return receipts;
  };
  const receipts = await fetchReceipts(upstreams, header, signal, once ? null : prove);
  return prove(receipts).flatMap((receipt) => receipt.logs as RpcLog[]);
}

async function fetchReceipts(
  upstreams: RpcUpstreams,
  header: Header,
  signal: AbortSignal,
  prove: ((result: unknown) => TrieReceipt[]) | null,
): Promise<unknown> {
  if (!upstreams.lacksBlockReceipts) {
    const check = prove ? (result: unknown) => void prove(result) : undefined;
    const answer = await upstreams.request("eth_getBlockReceipts", [header.hash], { check, signal }).catch(singly);
    if (answer && !answer.error) return answer.result;
    // Hardhat's node does not have this method.
    if (answer?.error && answer.error.code !== unsupportedCode)
      throw new Refused(`eth_getBlockReceipts: ${answer.error.message}`);
    if (answer) upstreams.lacksBlockReceipts = true;
  }
  const check = (block: unknown) => {
    if (!Array.isArray((block as { transactions?: unknown } | null)?.transactions)) throw new Refused("no block");
  };
  const { result } = await upstreams.request("eth_getBlockByHash", [header.hash, false], { check, signal });
  const hashes = (result as { transactions: string[] }).transactions;
  const fetchAll = async () => {
    const receipts: unknown[] = [];
    for (const hash of hashes)
      receipts.push((await upstreams.request("eth_getTransactionReceipt", [hash], { signal })).result);
    prove?.(receipts);
    return receipts;
  };
  return fetchAll().catch(fetchAll);
}

/** Some nodes fail to assemble some blocks' receipts, but have each of them. @returns null then; rethrows others. */
function singly(error: unknown): null {
  if (error instanceof NodeRefusal && error.kind === "broken") return null;
  throw error;
}

function checkReceipts(result: unknown, header: Header): asserts result is TrieReceipt[] {
  if (!Array.isArray(result)) throw new Refused("receipts are missing");
  let logIndex = 0n;
  for (const [index, receipt] of (result as Partial<TrieReceipt>[]).entries()) {
    if (!Array.isArray(receipt?.logs) || BigInt(receipt.transactionIndex ?? "0x0") !== BigInt(index))
      throw new Refused("receipts are not those of the block in order");
    for (const log of receipt.logs as unknown[]) {
      checkLog(log);
      // The root does not cover a log's position.
      if (
        log.blockHash !== header.hash ||
        BigInt(log.blockNumber) !== header.number ||
        BigInt(log.logIndex) !== logIndex
      )
        throw new Refused(`log ${String(log.logIndex)} is out of place`);
      logIndex += 1n;
    }
  }
  if (receiptsRoot(result as TrieReceipt[]) !== header.receiptsRoot)
    throw new Refused("the receipts are not those that the block's header commits to");
}

function checkLog(log: unknown): asserts log is RpcLog {
  const { address, topics, data, blockHash, blockNumber, logIndex, transactionHash, transactionIndex, removed } =
    (log ?? {}) as Record<string, unknown>;
  const words = [blockHash, transactionHash];
  const isLog =
    isHex(address) &&
    address.length === 42 &&
    isHex(data) &&
    [blockNumber, logIndex, transactionIndex].every((value) => isHex(value) && value.length > 2) &&
    Array.isArray(topics) &&
    topics.length <= 4 &&
    [...words, ...(topics as unknown[])].every((value) => isHex(value) && value.length === 66);
  if (!isLog) throw new Refused("an entry is not a log");
  if (removed === true) throw new Refused("a log is marked as removed");
}

/**
 * Checks logs as far as it is possible without receipts: each is a log, matches the filter, and they are in order
 * without duplicates. A list that was cut short passes.
 *
 * @param whole whether the list must have all logs of one block.
 */
export function checkLogs(result: unknown, filter: LogFilter, whole = false): asserts result is RpcLog[] {
  if (!Array.isArray(result)) throw new Refused("logs are not a list");
  let last = -1n;
  const hashes = new Map<bigint, Hex>();
  for (const log of result as unknown[]) {
    checkLog(log);
    const block = BigInt(log.blockNumber);
    const position = (block << 32n) + BigInt(log.logIndex);
    if (position <= last) throw new Refused("logs are doubled or out of order");
    last = position;
    if ((hashes.get(block) ?? log.blockHash) !== log.blockHash) throw new Refused("logs of one block name two hashes");
    hashes.set(block, log.blockHash);
    if (filter.blockHash && log.blockHash.toLowerCase() !== filter.blockHash.toLowerCase())
      throw new Refused("a log is of another block");
    if (
      !filter.blockHash &&
      (block < BigInt(filter.fromBlock ?? "0x0") || block > BigInt(filter.toBlock ?? log.blockNumber))
    )
      throw new Refused("a log is outside of the range");
    if (!matches(log, filter)) throw new Refused("a log is of another address or topic");
  }
  if (whole && (result as RpcLog[]).some(({ logIndex }, index) => BigInt(logIndex) !== BigInt(index)))
    throw new Refused("logs of the block are missing");
}

export function matches(log: RpcLog, { address, topics = [] }: LogFilter): boolean {
  const accepts = (wanted: string | null | undefined | readonly string[], value: string | undefined) =>
    wanted === null ||
    wanted === undefined ||
    (value !== undefined && [wanted].flat().some((one) => one.toLowerCase() === value.toLowerCase()));
  return (
    accepts(address, log.address) &&
    topics.every((wanted, index) => accepts(wanted, log.topics[index]) && log.topics[index] !== undefined)
  );
}

export const topicOf = (signature: string): Hex => keccak256(new TextEncoder().encode(signature));
