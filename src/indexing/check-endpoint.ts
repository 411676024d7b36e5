import { type Address, type Hex, keccak256 } from "viem";
import { splitCredentials } from "../rpc/endpoint.ts";
import { createLogger } from "../telemetry/log.ts";
import { type Header, headerHash, readHeader } from "./header.ts";
import { NodeRefusal, type RpcAnswer, sendRpc } from "./json-rpc.ts";
import { fetchProvenLogs, topicOf } from "./proven-logs.ts";
import { RpcUpstreams } from "./rpc-upstreams.ts";

/** What one endpoint can do. A text in place of a value gives the class of the error and the node's message. */
export type EndpointFacts = Awaited<ReturnType<typeof checkEndpoint>>;

const limits = { timeoutMs: 15_000, maxAnswerBytes: 134_217_728 };
const widths = [10_000n, 5_000n, 2_000n, 1_000n, 500n, 100n, 10n, 1n];
const atOnce = 32;
const transferTopic = topicOf("Transfer(address,address,uint256)");
const nobody: Address = "0x0000000000000000000000000000000000000001";

/**
 * Finds out what an endpoint can do. It changes nothing.
 *
 * @param url http or https.
 * @throws UnusableAnswer when the endpoint does not give its chain id or its newest block.
 */
export async function checkEndpoint(url: string) {
  const ask = async (method: string, params: unknown[]) => resultOf(await sendRpc(url, method, params, limits));
  const chainId = Number(await ask("eth_chainId", []));
  const block = (await ask("eth_getBlockByNumber", ["latest", false])) as Record<string, unknown>;
  const header = readHeader(block);
  const old = readHeader((await ask("eth_getBlockByNumber", [hex(back(header, 20n)), false])) as typeof block);
  const times: number[] = [];
  for (let count = 0; count < 5; count += 1) {
    const begun = performance.now();
    await ask("eth_blockNumber", []).catch(() => undefined);
    times.push(performance.now() - begun);
  }
  return {
    /** Without path and query, which may contain a key. */
    host: new URL(splitCredentials(url).url).host,
    chainId,
    head: header.number,
    /** Seconds since the newest block, by the block's timestamp. */
    age: Math.max(0, Math.floor(Date.now() / 1_000) - Number(header.timestamp)),
    /** Median of five answers. */
    answerMs: times.sort((a, b) => a - b)[2] ?? 0,
    finalized: await told(async () => {
      const answer = await ask("eth_getBlockByNumber", ["finalized", false]);
      return readHeader(answer as typeof block).number;
    }),
    /** Null: blocks have no base fee (EIP-1559). */
    baseFee: typeof block["baseFeePerGas"] === "string" ? BigInt(block["baseFeePerGas"]) : null,
    feeHistory: await able(async () => {
      const { baseFeePerGas } = (await ask("eth_feeHistory", ["0xa", "latest", [20]])) as { baseFeePerGas?: unknown };
      if (!Array.isArray(baseFeePerGas)) throw new Error("it has no base fees in it");
    }),
    suggestedTip: await told(async () => BigInt((await ask("eth_maxPriorityFeePerGas", [])) as string)),
    /** Whether block hashes follow from Ethereum's header fields: only then can headers be proved. */
    hashes: await able(async () => {
      if (headerHash(block) !== header.hash) throw new Error("blocks have fields of this chain's own");
    }),
    /** Whether the receipts of a block give the header's receipts root. */
    receipts: await able(() => proveReceipts(url, chainId, old)),
    /** Width in blocks of the widest range of transfers that was answered. */
    widestRange: await findWidestRange(url, header.number),
    callByHash: await able(async () => void (await ask("eth_call", [{ to: nobody }, { blockHash: old.hash }]))),
    pending: await able(async () => void (await ask("eth_getTransactionCount", [nobody, "pending"]))),
    /** Number of 32 concurrent requests that were refused by rate limiting. */
    refusedAtOnce: await countRefused(url),
  };
}

/** A block far enough behind the head that every backend of an endpoint should have it. */
function back({ number }: Header, blocks: bigint): bigint {
  return number > blocks ? number - blocks : 0n;
}

async function proveReceipts(url: string, id: number, header: Header): Promise<void> {
  const upstreams = new RpcUpstreams(
    { name: "chain", id },
    [url],
    { ...limits, requestsPerSecond: 0 },
    createLogger("rpc-check", "silent"),
  );
  await fetchProvenLogs(upstreams, header, AbortSignal.timeout(limits.timeoutMs));
}

async function findWidestRange(url: string, head: bigint): Promise<bigint | string> {
  let last = "";
  for (const width of widths) {
    if (width > head && width > 1n) continue;
    const toBlock = head > 20n ? head - 20n : head;
    const filter = { fromBlock: hex(toBlock - width + 1n < 0n ? 0n : toBlock - width + 1n), toBlock: hex(toBlock) };
    const question = [{ ...filter, topics: [transferTopic, null, null, null] }];
    const found = await told(async () => {
      resultOf(await sendRpc(url, "eth_getLogs", question, limits));
      return width;
    });
    if (typeof found === "bigint") return found;
    last = found;
  }
  return last;
}

async function countRefused(url: string): Promise<number> {
  const asked = Array.from({ length: atOnce }, (_, index) =>
    sendRpc(url, "eth_getBalance", [`0x${keccak256(hex(BigInt(index))).slice(26)}`, "latest"], limits),
  );
  const answers = await Promise.allSettled(asked);
  return answers.filter(
    (answer) =>
      answer.status === "rejected" && answer.reason instanceof NodeRefusal && answer.reason.kind === "rate_limited",
  ).length;
}

function resultOf(answer: RpcAnswer): unknown {
  if (answer.error) throw new Error(answer.error.message);
  if (answer.result === null || answer.result === undefined) throw new Error("it has nothing there");
  return answer.result;
}

async function able(run: () => Promise<void>): Promise<true | string> {
  return await told(() => run().then(() => true as const));
}

async function told<T>(run: () => Promise<T>): Promise<T | string> {
  try {
    return await run();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const hex = (value: bigint): Hex => `0x${value.toString(16)}`;
