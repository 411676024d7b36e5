import { BaseError, createClient, type Hash, type Hex, webSocket } from "viem";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import { classOf, isCallRefusal, isReverted, nodeWords } from "./answers.ts";
import { LaggingNode, NodeFault, openEndpoint, type RpcCall, type RpcResult } from "./endpoint.ts";
import { type ByHash, calls, parseBlock, parseBlockOrNull, parseHex, parseReceipt } from "./reads.ts";

/** An endpoint of a chain that has proved to serve it. */
export interface Node {
  /** Position and host, never the path or query: those may hold a key. */
  name: string;
  /** @throws NodeFault when there is no usable answer. */
  ask(calls: readonly RpcCall[]): Promise<RpcResult[]>;
  /** Largest number of calls per request, as learned so far. */
  readonly mostCalls: number;
}

export interface Nodes {
  /** The result of the first endpoint that answers, best first; throws the last one's fault when none does. */
  first<T>(read: (node: Node) => Promise<T>): Promise<T>;
  /** Whether the last attempt, within the last minute, found no endpoint with a usable answer. */
  readonly areUseless: boolean;
  /** How many endpoints have to agree: the quorum, or all configured ones, reachable or not. */
  needed(quorum: number): number;
  /** Every configured endpoint, whatever it serves. */
  every: readonly Node[];
  /** Every endpoint that now proves to serve the chain. */
  all(): Promise<Node[]>;
  /** The answers of all of these; endpoints without a usable answer are left out. */
  answers<T>(read: (node: Node) => Promise<T>): Promise<T[]>;
}

const restMs = 60_000;

/** The endpoints of a chain. Each has to prove the chain id and block 0 before its answers are used. */
export function openNodes(chain: Chain): Nodes {
  const nodes = chain.rpcUrls.map((url, index) => openNode(chain, url, index));
  let genesis: Hash | null = chain.relay.genesisHash;
  const proved = new Set<Node>();
  /** Nodes that only their operator can repair, and until when they are asked last. */
  const resting = new Map<Node, number>();
  let uselessUntil = 0;

  async function prove(node: Node): Promise<void> {
    if (proved.has(node)) return;
    const [answer] = await node.ask([{ method: "eth_getBlockByNumber", params: ["0x0", false] }]);
    const { hash } = parseBlock(answer);
    genesis ??= hash;
    if (hash !== genesis) throw new NodeFault(`${node.name} has another block 0 than ${chain.name}`);
    proved.add(node);
  }

  const all = async () => {
    const checks = await Promise.allSettled(nodes.map(prove));
    return nodes.filter((_, index) => checks[index]?.status === "fulfilled");
  };

  return {
    every: nodes,
    needed: (quorum) => Math.min(quorum, nodes.length),
    first: async (read) => {
      let fault: unknown = new NodeFault(`${chain.name} has no endpoint`);
      const now = performance.now();
      const rests = (node: Node) => (resting.get(node) ?? 0) > now;
      for (const node of [...nodes.filter((one) => !rests(one)), ...nodes.filter(rests)]) {
        try {
          await prove(node);
          const answer = await read(node);
          uselessUntil = 0;
          resting.delete(node);
          return answer;
        } catch (error) {
          if (!(error instanceof NodeFault)) throw error;
          fault = error;
          if (error.kind === "quota_ended" || error.kind === "key_refused") resting.set(node, now + restMs);
        }
      }
      if (!(fault instanceof LaggingNode)) uselessUntil = performance.now() + 60_000;
      throw fault;
    },
    get areUseless() {
      return performance.now() < uselessUntil;
    },
    all,
    answers: async (read) => {
      const answers = await Promise.allSettled((await all()).map(read));
      return answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
    },
  };
}

function openNode(chain: Chain, url: string, index: number): Node {
  const name = `${chain.name}#${index} ${new URL(url).host}`;
  if (!/^ws/.test(url)) {
    const endpoint = openEndpoint(url, chain);
    return {
      name,
      ask: withCallsByHash(endpoint.ask),
      get mostCalls() {
        return endpoint.mostCalls;
      },
    };
  }
  const client = createClient({ transport: webSocket(url, { timeout: 10_000, retryCount: 0 }) });
  const request = async ({ method, params }: RpcCall): Promise<RpcResult> => {
    try {
      return { result: await client.request({ method, params } as never) };
    } catch (error) {
      const { code, message, data } = error as { code?: number; message?: string; data?: unknown };
      if (typeof code !== "number") throw new NodeFault("no answer over the socket");
      return { error: { code, message: String(message), data } };
    }
  };
  return {
    name,
    mostCalls: Number.POSITIVE_INFINITY,
    ask: async (calls) => {
      const [id, ...results] = await Promise.all([{ method: "eth_chainId", params: [] }, ...calls].map(request));
      if (!id || !("result" in id) || Number(id.result) !== chain.id)
        throw new NodeFault(`a node of ${chain.name} answered for another chain`);
      return results;
    },
  };
}

type Ask = (asked: readonly RpcCall[]) => Promise<RpcResult[]>;

/**
 * Runs calls at a block's hash (EIP-1898) through an endpoint that only supports numbers: at the block's number, with a
 * read of that number's hash, so that an answer from a sibling block is rejected.
 */
function withCallsByHash(ask: Ask): Ask {
  return async (asked) => {
    const results = await ask(asked);
    const late = asked.flatMap((call, at) => {
      const hash = hashOf(call);
      return hash && isNotRun(results[at]) ? [{ at, call, hash }] : [];
    });
    if (late.length === 0) return results;
    const hashes = [...new Set(late.map(({ hash }) => hash))];
    const blocks = await ask(hashes.map((hash) => ({ method: "eth_getBlockByHash", params: [hash, false] })));
    const numbers = new Map(hashes.map((hash, at) => [hash, parseBlockOrNull(blocks[at])?.number] as const));
    const known = late.flatMap((one) => {
      const number = numbers.get(one.hash);
      return number === undefined ? [] : [{ ...one, number }];
    });
    const answers = await ask([
      ...known.map(({ call, number }) => ({ ...call, params: [call.params[0], `0x${number.toString(16)}`] })),
      ...known.map(({ number }) => calls.block(number)),
    ]);
    for (const [index, { at, hash }] of known.entries()) {
      const answer = answers[index];
      const isSame = parseBlockOrNull(answers[known.length + index])?.hash === hash;
      results[at] = answer && isSame ? answer : { error: { code: -32_001, message: "block not found" } };
    }
    return results;
  };
}

function hashOf({ method, params }: RpcCall): Hash | null {
  return method === "eth_call" ? ((params[1] as Partial<ByHash> | undefined)?.blockHash ?? null) : null;
}

/** The error concerns the form of the call: it is neither the contract's answer nor a missing block. */
function isNotRun(result: RpcResult | undefined): boolean {
  if (!result || !("error" in result) || isReverted(result.error) || isCallRefusal(result.error.message)) return false;
  return result.error.code === -32_602 || classOf(result.error, "eth_call") === "unsupported";
}

/** `denied`: an endpoint reports otherwise for the same block; `unknown`: too few of them answer. */
type Agreement = "agreed" | "denied" | "unknown";

/** A transaction's outcome, as one endpoint reported it. */
interface ReportedOutcome {
  hash: Hash;
  blockHash: Hash;
  /** Null: either outcome counts. */
  succeeded: boolean | null;
}

/**
 * Whether enough endpoints report the same outcome of a transaction; asked before a request ends by it.
 *
 * @param quorum if larger than the number of endpoints, all of them have to agree.
 */
export async function agreeOnOutcome(nodes: Nodes, quorum: number, outcome: ReportedOutcome): Promise<Agreement> {
  if (quorum <= 1) return "agreed";
  const { hash, blockHash, succeeded } = outcome;
  const receipts = await nodes.answers(async (node) => parseReceipt((await node.ask([calls.receipt(hash)]))[0], hash));
  const votes = receipts
    .filter((receipt) => receipt?.blockHash === blockHash)
    .map((receipt) => succeeded === null || (receipt?.status === 1n) === succeeded);
  if (votes.includes(false)) return "denied";
  return votes.length >= nodes.needed(quorum) ? "agreed" : "unknown";
}

/** Whether enough endpoints return the same bytes, since what is built from them replaces a whole record. */
export async function agreeOnBytes(nodes: Nodes, quorum: number, call: RpcCall, bytes: Hex): Promise<boolean> {
  if (quorum <= 1) return true;
  const answers = await nodes.answers(async (node) => parseHex((await node.ask([call]))[0], "bytes"));
  return answers.filter((answer) => answer === bytes).length >= nodes.needed(quorum);
}

/** Runs a read of the chain; any failure becomes `service_unavailable`, without the node's own text. */
export async function askNode<T>(chain: Chain, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause;
    throw new ServiceError("service_unavailable", `the ${chain.name} node does not answer`, {
      retryAfterSeconds: 5,
      cause,
    });
  }
}

/** An error for the log or for evidence: short, one line, without the URL (it may hold a key). */
function describeFailure(error: unknown): { code: string; detail: string } {
  if (!(error instanceof Error)) return { code: "unknown", detail: "" };
  // The innermost cause may be the node's bare error object.
  const innermost: { name?: unknown; code?: unknown } = error instanceof BaseError ? error.walk() : error;
  const code = [innermost.name ?? error.name, innermost.code].filter((part) => part !== undefined).join(" ");
  const text = error instanceof BaseError ? error.details || error.shortMessage : error.message;
  return { code, detail: nodeWords(text) };
}

/** A failure as log fields: a node's own error would contain its URL, with any key in it. */
export function loggable(error: unknown): Record<string, unknown> {
  const origin = error instanceof ServiceError ? error.cause : error;
  if (origin instanceof NodeFault) return { failure: origin.message };
  return origin instanceof BaseError ? { failure: describeFailure(origin) } : { err: error };
}
