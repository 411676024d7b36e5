import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Hex, hexToNumber, numberToHex } from "viem";
import { hardhat } from "viem/chains";
import { ponderFolder } from "../../src/indexing/ponder-process.ts";
import type { Question } from "./fault.ts";
import { compare, type Outcome } from "./outcome.ts";
import { type Block, type Log, type Tokens, transferOf, transferTopic } from "./tokens.ts";

/** As much of Ponder as is used here; it exports none of it. */
interface Rpc {
  request(question: { method: string; params: unknown[] }): Promise<unknown>;
}
interface Range {
  fromBlock: Hex;
  toBlock: Hex;
}
interface Filter extends Range {
  address: Hex;
  topics: Hex[];
}
interface Asked {
  method: string;
  params: unknown[];
}
interface Modules {
  createRpc(options: object): Rpc;
  getLogsRetryHelper(failure: { params: [Filter]; error: unknown }): { shouldRetry: boolean; ranges?: Range[] };
  eth_getLogs(rpc: Rpc, params: [Filter]): Promise<Log[]>;
  eth_getBlockByNumber(rpc: Rpc, params: [string, boolean]): Promise<Block>;
  eth_getBlockReceipts(rpc: Rpc, params: [Hex]): Promise<{ logs: Log[] }[]>;
  validateLogsAndBlock(logs: Log[], block: Block, logsAsked: Asked, blockAsked: Asked): void;
  validateTransactionsAndBlock(block: Block, asked: Asked): void;
  validateReceiptsAndBlock(receipts: unknown[], block: Block, receiptsAsked: Asked, blockAsked: Asked): void;
}

let loaded: Promise<Modules> | undefined;

async function load(): Promise<Modules> {
  const folder = ponderFolder();
  const files = ["dist/esm/rpc/index.js", "dist/esm/rpc/actions.js", "../@ponder/utils/dist/index.js"];
  const modules = await Promise.all(files.map((file) => import(pathToFileURL(join(folder, file)).href)));
  return Object.assign({}, ...modules) as Modules;
}

type Warn = (words: string) => void;
const ignore = () => undefined;

function rpcOf({ createRpc }: Modules, urls: readonly string[], tell: Warn): { rpc: Rpc; close: () => void } {
  const warn = ({ error }: { error?: Error }) => tell(String(error?.message));
  const endings: (() => void)[] = [];
  const common = {
    logger: { trace: ignore, debug: ignore, info: ignore, warn, error: ignore },
    metrics: { ponder_rpc_request_duration: { observe: ignore }, ponder_rpc_request_error_total: { inc: ignore } },
    shutdown: { add: (end: () => void) => void endings.push(end) },
  };
  const chain = { id: hardhat.id, name: "zoo", rpc: [...urls], viemChain: hardhat, pollingInterval: 1_000 };
  return {
    rpc: createRpc({ common, chain }),
    close: () => {
      for (const end of endings) end();
    },
  };
}

/**
 * Ponder's own RPC layer, asked and checked as its backfill does: the ranges that errors suggest, logs and receipts held
 * against their blocks, and what came twice taken once.
 *
 * @param warn is told what it warns of.
 */
export async function askPonder(
  urls: readonly string[],
  question: Question,
  tokens: Tokens,
  warn: Warn = ignore,
): Promise<Outcome> {
  loaded ??= load();
  const ponder = await loaded;
  const { rpc, close } = rpcOf(ponder, urls, warn);
  try {
    return await ask(ponder, rpc, question, tokens);
  } finally {
    close();
  }
}

async function ask(ponder: Modules, rpc: Rpc, question: Question, tokens: Tokens): Promise<Outcome> {
  const { block, transfers } = tokens.busy;
  const readBlock = (number: Hex) => ponder.eth_getBlockByNumber(rpc, [number, true]);
  const blockAsked = { method: "eth_getBlockByNumber", params: [block.number, true] };
  switch (question) {
    case "logs": {
      const { address, fromBlock, toBlock } = tokens;
      const filter = { address, topics: [transferTopic], fromBlock, toBlock };
      const logs = await backfill(ponder, rpc, filter);
      await Promise.all(
        [...Map.groupBy(logs, ({ blockNumber }) => blockNumber)].map(async ([number, some]) => {
          const asked = { method: "eth_getLogs", params: [{ fromBlock: number, toBlock: number }] };
          ponder.validateLogsAndBlock(some, await readBlock(number), asked, { ...blockAsked, params: [number, true] });
        }),
      );
      return compare(stored(logs), tokens.transfers);
    }
    case "block": {
      const found = await readBlock(block.number);
      ponder.validateTransactionsAndBlock(found, blockAsked);
      const hashes = (one: Block) => one.transactions.map(({ hash }) => hash).join();
      const isRight = found.hash === block.hash && hashes(found) === hashes(block);
      return isRight ? { end: "right" } : { end: "wrong", what: "another block" };
    }
    case "receipts": {
      const receipts = await ponder.eth_getBlockReceipts(rpc, [block.hash]);
      const receiptsAsked = { method: "eth_getBlockReceipts", params: [block.hash] };
      ponder.validateReceiptsAndBlock(receipts, await readBlock(block.number), receiptsAsked, blockAsked);
      const logs = receipts.flatMap((receipt) => receipt.logs);
      const asked = logs.filter(({ address, topics }) => address === tokens.address && topics[0] === transferTopic);
      return compare(stored(asked), transfers);
    }
    case "head": {
      const first = hexToNumber((await ponder.eth_getBlockByNumber(rpc, ["latest", true])).number);
      const second = hexToNumber((await ponder.eth_getBlockByNumber(rpc, ["latest", true])).number);
      if (second >= first) return { end: "right" };
      return { end: "wrong", what: `the head went back by ${first - second} blocks` };
    }
  }
}

async function backfill(ponder: Modules, rpc: Rpc, filter: Filter): Promise<Log[]> {
  try {
    return await ponder.eth_getLogs(rpc, [filter]);
  } catch (error) {
    const { shouldRetry, ranges = [] } = ponder.getLogsRetryHelper({ params: [filter], error });
    if (!shouldRetry) throw error;
    const [first] = ranges;
    const width = first ? hexToNumber(first.toBlock) - hexToNumber(first.fromBlock) : 0;
    const parts: Promise<Log[]>[] = [];
    // In the width of the first suggestion, as it goes on with all that follows.
    for (let at = hexToNumber(filter.fromBlock); at <= hexToNumber(filter.toBlock); at += width + 1) {
      const end = Math.min(at + width, hexToNumber(filter.toBlock));
      parts.push(backfill(ponder, rpc, { ...filter, fromBlock: numberToHex(at), toBlock: numberToHex(end) }));
    }
    return (await Promise.all(parts)).flat();
  }
}

/** As its tables hold them: by their place, once. */
function stored(logs: readonly Log[]): string[] {
  const byPlace = new Map(logs.map((log) => [Number(log.blockNumber) * 1e6 + Number(log.logIndex), log]));
  return [...byPlace].sort(([one], [other]) => one - other).map(([, log]) => transferOf(log));
}
