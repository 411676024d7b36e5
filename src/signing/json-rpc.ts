import type { Address, Hex } from "viem";
import { numberToHex } from "viem/utils";
import type { RefusalReason } from "./rules.ts";
import type { SigningKind, SigningOrder } from "./signer.ts";

/*
 * The signer's protocol: the JSON-RPC interface of Web3Signer
 * (https://docs.web3signer.consensys.io/reference/api/json-rpc) on a Unix socket or on loopback, with a bearer token.
 *
 *   GET  /upcheck  200 OK
 *   POST /         eth_signTransaction [{from, to, data, nonce, value, gas, maxFeePerGas, maxPriorityFeePerGas, chainId, kind}],
 *                  with gasPrice instead of both fees for a legacy transaction: the signed transaction
 *                  eth_accounts [] or [{chainId}]: wallets, lower case
 *
 * `chainId` and `kind` are required in addition to Web3Signer's members, and Web3Signer ignores them: a signer has the
 * wallets of several chains, and its rules depend on the kind. Any other member is refused. A batch of requests gets an
 * array of answers; Web3Signer accepts no batches. JSON-RPC errors have the HTTP status 200; 400 means invalid JSON or
 * too many requests, 401 a wrong token, 404 a wrong path, 413 too many bytes. The header `mintyard-signer` of each
 * answer says that this signer enforces the rules. No message contains a key.
 */

export const paths = { rpc: "/", upcheck: "/upcheck" } as const;
/** The header in each answer of a signer that enforces the rules itself. */
export const rulesHeader = "mintyard-signer";

/** Maximum bytes per request. The largest transaction that nodes take has 128 KiB, twice that in hex. */
export const mostBytes = 300_000;
/** Maximum requests per batch: they are signed one after the other, and the first waits for the last. */
export const mostRequests = 8;

/** Codes of JSON-RPC 2.0, and of EIP-1474 for refusals. */
export const errorCodes = {
  parse: -32700,
  request: -32600,
  method: -32601,
  params: -32602,
  internal: -32603,
  /** The Web3Signer behind the signer does not answer. */
  unavailable: -32002,
  /** A rule forbids it. */
  rejected: -32003,
} as const;

export interface RpcError {
  code: number;
  message: string;
  /** Set when the relay holds the request for this reason. */
  data?: { reason: RefusalReason };
}

/** A request that cannot be processed. */
export class InvalidRequest extends Error {
  readonly code: number;
  /** The HTTP status, where nothing in the body is answered. */
  readonly status: number;

  constructor(why: string, code: number = errorCodes.params, status = 400) {
    super(why);
    this.code = code;
    this.status = status;
  }
}

/** @returns undefined for invalid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The parameter of `eth_signTransaction`. */
export function writeOrder(from: Address, { kind, transaction }: SigningOrder): Record<string, string> {
  const { chainId, nonce, to, data, value, gas, maxFeePerGas, maxPriorityFeePerGas, legacy } = transaction;
  const fees = legacy ? { gasPrice: maxFeePerGas } : { maxFeePerGas, maxPriorityFeePerGas };
  const amounts = Object.entries({ chainId, nonce, value, gas, ...fees });
  return { kind, from, to, data, ...Object.fromEntries(amounts.map(([name, amount]) => [name, numberToHex(amount)])) };
}

const kinds: readonly SigningKind[] = ["deploy", "update", "operate", "cancellation", "grant"];
const members = ["kind", "from", "to", "data", "chainId", "nonce", "value", "gas"];

/** @throws InvalidRequest naming the invalid member. Nothing is guessed, and no other member is accepted. */
export function readOrder(given: unknown): SigningOrder & { wallet: Address } {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new InvalidRequest("an object is wanted");
  const order = given as Record<string, unknown>;
  const legacy = order["gasPrice"] !== undefined;
  const fees = legacy ? ["gasPrice"] : ["maxFeePerGas", "maxPriorityFeePerGas"];
  if (Object.keys(order).some((name) => ![...members, ...fees].includes(name)))
    throw new InvalidRequest("a member that no order has");
  const string = (name: string, shape: RegExp): string => {
    const value = order[name];
    if (typeof value !== "string" || !shape.test(value)) throw new InvalidRequest(`${name} is not what is wanted`);
    return value;
  };
  const amount = (name: string) => BigInt(string(name, /^0x[0-9a-fA-F]{1,64}$/));
  // Up to 52 bits, so exact as a number.
  const whole = (name: string) => Number(string(name, /^0x[0-9a-fA-F]{1,13}$/));
  const address = (name: string) => string(name, /^0x[0-9a-fA-F]{40}$/).toLowerCase() as Address;
  const kind = kinds.find((candidate) => candidate === order["kind"]);
  if (!kind) throw new InvalidRequest("kind is not what is wanted");
  const [maxFeePerGas = 0n, maxPriorityFeePerGas = maxFeePerGas] = fees.map(amount);
  return {
    kind,
    wallet: address("from"),
    transaction: {
      chainId: whole("chainId"),
      nonce: whole("nonce"),
      to: address("to"),
      data: string("data", /^0x(?:[0-9a-fA-F]{2})*$/) as Hex,
      value: amount("value"),
      gas: amount("gas"),
      maxFeePerGas,
      maxPriorityFeePerGas,
      ...(legacy ? { legacy } : {}),
    },
  };
}
