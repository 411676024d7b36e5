import { isUtf8 } from "node:buffer";
import { LRUCache } from "lru-cache";
import {
  BaseError,
  type Hex,
  HttpRequestError,
  numberToHex,
  type PublicClient,
  RpcRequestError,
  TimeoutError,
  WebSocketRequestError,
} from "viem";
import { type Fault, isFault } from "../../outbound/fault.ts";
import { Busy } from "../../outbound/host-limits.ts";
import { cleanText } from "./parse-document.ts";

const labelLength = 256;
/** Bounds of the first call. */
const usual = { gas: 5_000_000, timeoutMs: 3_000 };
/** Timeout of a second call with more gas (`METADATA_CALL_GAS`), for contracts that need it. */
const climbTimeoutMs = 10_000;
/** Concurrent calls of that kind in a process, as each may keep a node busy for seconds. */
const climbsAtOnce = 4;
const busyMs = 1_000;

/** The block at which a round of calls reads. Its hash pins the fork: results never mix two. */
export interface PinnedBlock {
  number: bigint;
  hash: Hex;
}

/** The node's newest block. @throws when the node does not answer. */
export async function readHead(client: PublicClient): Promise<PinnedBlock> {
  const block = await client.getBlock({ blockTag: "latest" });
  if (block.hash === null) throw new Error("the node's latest block has no hash");
  return { number: block.number, hash: block.hash };
}

/** The most that one call of an untrusted contract may cost. */
export interface CallBounds {
  gas: number;
  returnedBytes: number;
}

/**
 * Calls view functions of untrusted contracts: at one block, with a gas limit, a timeout and a limit on the returned
 * bytes. The client must not follow CCIP-Read.
 */
export class ContractCalls {
  readonly #bounds: CallBounds;
  /** Contracts that needed more than the usual gas: their next calls begin with `climb`. */
  readonly #costly = new LRUCache<string, true>({ max: 10_000 });
  #climbing = 0;

  constructor(bounds: CallBounds) {
    this.#bounds = bounds;
  }

  async call(client: PublicClient, block: PinnedBlock, to: Hex, data: Hex): Promise<{ data: Buffer } | Fault> {
    const { gas, returnedBytes } = this.#bounds;
    return await callContract(client, block, to, data, { ...usual, gas: Math.min(gas, usual.gas), returnedBytes });
  }

  /** Whether calls of the contract should begin with `climb`. */
  isCostly(client: PublicClient, to: Hex): boolean {
    return this.#costly.has(keyOf(client, to));
  }

  /** Calls with the most gas and time that is allowed. @throws Busy while too many others do. */
  async climb(client: PublicClient, block: PinnedBlock, to: Hex, data: Hex): Promise<{ data: Buffer } | Fault> {
    if (this.#climbing >= climbsAtOnce) throw new Busy(busyMs);
    this.#climbing += 1;
    try {
      const answer = await callContract(client, block, to, data, { ...this.#bounds, timeoutMs: climbTimeoutMs });
      if (isFault(answer)) this.#costly.delete(keyOf(client, to));
      else this.#costly.set(keyOf(client, to), true);
      return answer;
    } finally {
      this.#climbing -= 1;
    }
  }
}

function keyOf({ chain }: PublicClient, to: Hex): string {
  return `${chain?.id}:${to}`;
}

async function callContract(
  client: PublicClient,
  block: PinnedBlock,
  to: Hex,
  data: Hex,
  { gas, returnedBytes, timeoutMs }: CallBounds & { timeoutMs: number },
): Promise<{ data: Buffer } | Fault> {
  const call = { to, data, gas: numberToHex(gas) };
  const ask = (at: { blockHash: Hex } | Hex) =>
    withTimeout(client.request({ method: "eth_call", params: [call, at] }), timeoutMs);
  try {
    const answer = await ask({ blockHash: block.hash }).catch((error: unknown) => {
      // An endpoint without EIP-1898 only takes block numbers. A result from a dead branch is detected later.
      if (isInvalid(error)) return ask(numberToHex(block.number));
      throw error;
    });
    if (typeof answer !== "string" || !/^0x/.test(answer)) return { fault: "call_bad_return" };
    if (answer.length > 2 + returnedBytes * 2) return { fault: "call_too_large" };
    return { data: Buffer.from(answer.slice(2), "hex") };
  } catch (error) {
    if (error instanceof TooSlow) return { fault: "call_timeout" };
    const answer = answerOf(error);
    if (answer === null) return { fault: "rpc_unavailable" };
    // The code is only for display: a failed call is tried with more gas whatever the node's message.
    return { fault: /out of gas|gas required exceeds/i.test(answer.details) ? "call_out_of_gas" : "call_failed" };
  }
}

/** Decodes a returned `string`; some old contracts return a `bytes32` instead. */
export function decodeText(data: Buffer): string | null {
  const bytes = returnedBytes(data);
  return bytes && cleanText(bytes.toString("utf8"));
}

/** Whether a returned `string` is valid UTF-8, as it has to be. */
export function isReturnedText(data: Buffer): boolean {
  const bytes = returnedBytes(data);
  return bytes !== null && isUtf8(bytes);
}

function returnedBytes(data: Buffer): Buffer | null {
  if (data.length === 32) return data;
  if (data.length < 64) return null;
  const offset = data.readBigUInt64BE(24);
  if (!isZero(data.subarray(0, 24)) || offset + 32n > BigInt(data.length)) return null;
  const at = Number(offset);
  const length = data.readBigUInt64BE(at + 24);
  if (!isZero(data.subarray(at, at + 24)) || length > BigInt(data.length - at - 32)) return null;
  return data.subarray(at + 32, at + 32 + Number(length));
}

/** `royaltyInfo(0, 10000)`: the royalty for a sale of token 0 at 10,000, so in basis points (ERC-2981). */
export const royaltyCall: Hex = `0x2a55205a${"0".repeat(64)}${(10_000).toString(16).padStart(64, "0")}`;

/** @returns the royalty in basis points; null for a malformed result, or one above the price. */
export function decodeRoyalty(data: Buffer): number | null {
  if (data.length !== 64 || !isZero(data.subarray(0, 12)) || !isZero(data.subarray(32, 60))) return null;
  const amount = data.readUInt32BE(60);
  return amount <= 10_000 ? amount : null;
}

/** A contract's name or symbol: one line of bounded length, without control characters. */
export function decodeLabel(data: Buffer): string | null {
  const text = decodeText(data)
    ?.replaceAll(/[\p{Cc}\p{Bidi_Control}]/gu, "")
    .trim()
    .normalize("NFC");
  return text ? text.slice(0, labelLength).toWellFormed() : null;
}

function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}

/** The error with which the node answered; null if it was silent or overloaded. */
function answerOf(error: unknown): RpcRequestError | null {
  if (!(error instanceof BaseError)) return null;
  const silent = error.walk(
    (cause) =>
      cause instanceof HttpRequestError || cause instanceof TimeoutError || cause instanceof WebSocketRequestError,
  );
  const answer = error.walk((cause) => cause instanceof RpcRequestError);
  const busy = answer instanceof RpcRequestError && [429, -32005, -32007, -32001].includes(answer.code);
  return !silent && answer instanceof RpcRequestError && !busy ? answer : null;
}

/** Whether the node does not understand the request. */
function isInvalid(error: unknown): boolean {
  const answer = error instanceof BaseError && error.walk((cause) => cause instanceof RpcRequestError);
  return answer instanceof RpcRequestError && answer.code === -32_602;
}

class TooSlow extends Error {}

async function withTimeout<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TooSlow()), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
