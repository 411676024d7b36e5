import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Chain } from "../chains.ts";
import { readAtMost } from "../read-at-most.ts";
import { Slots } from "../slots.ts";
import type { Logger } from "../telemetry/log.ts";
import { LogOnce } from "../telemetry/log-once.ts";
import type { FinalBlock } from "./endpoint-list.ts";
import { askForNftTransfers, dropErc20Transfers } from "./erc20-noise.ts";
import { announceHeads, HeadWatch } from "./head-watch.ts";
import { markHostileLogs } from "./hostile-logs.ts";
import { AnswerTooLarge, LeftChain, NodeRefusal, parseJson, type RpcAnswer, type RpcLimits } from "./json-rpc.ts";
import type { RpcLog } from "./proven-logs.ts";
import { RpcUpstreams } from "./rpc-upstreams.ts";
import { type BlockRange, halfWords, rangeOf, tooWideCode } from "./upstream.ts";
import { VerifiedChain } from "./verified-chain.ts";

const maxRequestBytes = 1_048_576;
// Ponder gives up after 10 s. It has to get our answer before that.
const usualLimits: RpcLimits = { timeoutMs: 9_000, maxAnswerBytes: 134_217_728 };
const maxConcurrent = 64;

/** The methods that an indexer needs; the gateway gives access to no others. */
const methods = new Set([
  "eth_blockNumber",
  "eth_chainId",
  "eth_getBlockByHash",
  "eth_getBlockByNumber",
  "eth_getBlockReceipts",
  "eth_getLogs",
  "eth_getTransactionReceipt",
]);

export type RpcGateway = Awaited<ReturnType<typeof startRpcGateway>>;

type GatewayChain = Pick<Chain, "name" | "id" | "local" | "verification" | "requestsPerSecond"> & {
  /** How long the nodes must stay behind the head seen before, until their shorter chain is believed. */
  lagTimeoutMs: number;
};

/**
 * A JSON-RPC server on the loopback interface in front of the chain's nodes. It fails over between them, passes nothing
 * on from a node of another chain, caps the size of answers, and drops ERC-20 transfers.
 *
 * @param urls of the nodes. Those with `ws:` or `wss:` only announce blocks; all requests go to the others.
 * @throws WrongChain, or UnusableAnswer when no node answers.
 */
export async function startRpcGateway(chain: GatewayChain, urls: readonly string[], log: Logger, limits = usualLimits) {
  const upstreams = new RpcUpstreams(
    chain,
    urls.filter((url) => url.startsWith("http")),
    { ...limits, requestsPerSecond: chain.requestsPerSecond },
    log,
  );
  await upstreams.verify();
  const verified = new VerifiedChain(upstreams, chain.verification, chain.lagTimeoutMs, log);
  /** Asks the nodes as Ponder does, without queueing behind it. @throws UnusableAnswer, or the node's error. */
  const request = async (method: string, params: unknown) => {
    const answer = await askFiltered(verified, method, params);
    if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
    return answer.result;
  };
  const heads = new HeadWatch({
    readLatest: () => request("eth_getBlockByNumber", ["latest", false]),
    isDoubtful: () => verified.isBehind,
    wsUrls: urls.filter((url) => chain.local || url.startsWith("ws")).map((url) => url.replace(/^http/, "ws")),
    pollMs: chain.local ? 100 : 1_000,
  });
  const slots = new Slots(maxConcurrent);
  const ask = (method: string, params: unknown, signal: AbortSignal) =>
    slots.run(() => askFiltered(verified, method, params, signal), { signal });
  let answered = 0;
  const running = new Set<{ since: number }>();
  const logOnce = new LogOnce(log);
  const server = createServer((request, response) => {
    const question = { since: performance.now() };
    running.add(question);
    // Ponder closes the connection when it gives up. A request that nobody waits for would delay its next ones.
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    serve(request, response, ask, gone.signal)
      .then(() => {
        answered += 1;
      })
      .catch((error: unknown) => {
        if (gone.signal.aborted) return;
        const reason = error instanceof Error ? error.message : String(error);
        logOnce.write("warn", reason.replace(/\b(?:eth|net)_\w+/, ""), { reason }, "RPC request failed");
        // After most failures Ponder repeats a request for minutes and does nothing else meanwhile. It accepts a 404 at
        // once: the next head leads it to the block that replaced this one.
        const status = error instanceof LeftChain ? 404 : 503;
        reply(response, status, null, { error: { code: -32000, message: "no RPC endpoint gave a usable answer" } });
      })
      .finally(() => {
        running.delete(question);
      });
  });
  await new Promise<void>((done, failed) => server.once("error", failed).listen(0, "127.0.0.1", done));
  const announcements = announceHeads(server, heads);
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the RPC gateway got no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    wsUrl: `ws://127.0.0.1:${address.port}`,
    /** Not started yet: the caller starts it. */
    heads,
    request,
    /** Sends one request to every node. @returns the results of those that answer. */
    requestAll: async (method: string, params: unknown) =>
      (await upstreams.requestAll(method, params)).map(({ result }) => result),
    /** Number of answers that were refused, by reason. */
    refusals: upstreams.refusals as ReadonlyMap<string, number>,
    /**
     * Ponder's requests: how many were answered since the start, how many are pending, and the age of the oldest
     * pending one (ms).
     */
    activity: () => {
      const [oldest] = running;
      const oldestMs = oldest ? Math.max(1, performance.now() - oldest.since) : 0;
      return { answered, running: running.size, oldestMs };
    },
    /** From now on an endpoint with another block 0 is not believed. */
    expectGenesis: (hash: string) => upstreams.expectGenesis(hash),
    audit: (final: FinalBlock | null) => upstreams.audit(final),
    contradictions: () => upstreams.contradictions(),
    /** All logs of a block in the form that the index gets. */
    logsOfBlock: async (number: bigint, by: "another" | "proof") => {
      const logs = await verified.logsOfBlock(number, by);
      return logs && (markHostileLogs(dropErc20Transfers([], logs)) as RpcLog[]);
    },
    health: () => upstreams.health(),
    unproven: () => verified.unproven,
    close: async () => {
      heads.stop();
      announcements.stop();
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

async function askFiltered(
  chain: VerifiedChain,
  method: string,
  params: unknown,
  signal?: AbortSignal,
): Promise<RpcAnswer> {
  if (method !== "eth_getLogs") return chain.request(method, params, signal);
  try {
    const answer = await chain.request(method, askForNftTransfers(params), signal);
    if (answer.error?.code === tooWideCode) return await narrower(chain, params, answer.error.message, signal);
    return answer.error ? answer : { result: markHostileLogs(dropErc20Transfers(params, answer.result)) };
  } catch (error) {
    const isTooMuch = error instanceof AnswerTooLarge || (error instanceof NodeRefusal && error.kind === "too_slow");
    const range = rangeOf(params);
    if (isTooMuch && range && range.to > range.from) return await narrower(chain, params, error.message, signal);
    throw error;
  }
}

/**
 * Asks Ponder for a narrower range, in the wording of a provider that Ponder follows: it stops at other messages.
 *
 * @param words the node's message; passed on as it is where Ponder understands it.
 */
async function narrower(
  chain: VerifiedChain,
  params: unknown,
  words: string,
  signal: AbortSignal | undefined,
): Promise<RpcAnswer> {
  const range = rangeOf(params);
  if (!range || range.to === range.from) return { error: { code: tooWideCode, message: words } };
  // For a range of two blocks, Ponder would ask for ranges of zero blocks without end.
  if (range.to - range.from === 1n) return await oneByOne(chain, params, range, signal);
  const isAdvice = /this block range should work: \[0x|query exceeds max results/.test(words);
  return { error: { code: tooWideCode, message: isAdvice ? words : halfWords } };
}

async function oneByOne(
  chain: VerifiedChain,
  params: unknown,
  { from, to }: BlockRange,
  signal: AbortSignal | undefined,
): Promise<RpcAnswer> {
  const [filter] = params as object[];
  const of = (block: bigint) => {
    const number = `0x${block.toString(16)}`;
    return askFiltered(chain, "eth_getLogs", [{ ...filter, fromBlock: number, toBlock: number }], signal);
  };
  const [first, second] = [await of(from), await of(to)];
  if (first.error || second.error) return first.error ? first : second;
  return { result: [first.result, second.result].flat() };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  ask: (method: string, params: unknown, signal: AbortSignal) => Promise<RpcAnswer>,
  signal: AbortSignal,
): Promise<void> {
  const read = await readAtMost(request, maxRequestBytes, () => new Error("a request of Ponder is too large"));
  const body = parseRequest(read.toString("utf8"));
  if (!body) return reply(response, 400, null, { error: { code: -32600, message: "one JSON-RPC request is wanted" } });
  if (!methods.has(body.method)) {
    return reply(response, 200, body.id, {
      error: { code: -32601, message: `method ${body.method} is not served here` },
    });
  }
  reply(response, 200, body.id, await ask(body.method, body.params, signal));
}

function parseRequest(text: string): { id: unknown; method: string; params: unknown } | null {
  const { id = null, method, params } = (parseJson(text) ?? {}) as Record<string, unknown>;
  return typeof method === "string" ? { id, method, params } : null;
}

function reply(response: ServerResponse, status: number, id: unknown, { result, error }: RpcAnswer): void {
  if (response.headersSent) return;
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id, ...(error ? { error } : { result }) }));
}
