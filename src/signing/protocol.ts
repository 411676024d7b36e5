import type { Address, Hex } from "viem";
import type { SigningKind, SigningOrder } from "./signer.ts";

/*
 * What is said between the signer and those who ask it: HTTP on a Unix socket or on loopback, a bearer token, JSON.
 *
 *   POST /v1/sign      an order        200 {"signature":"0x…"}; 403 {"refused":"…"}; 400, 401, 404, 413
 *   GET  /v1/wallets                   200 {"wallets":{"137":["0x…"]}}
 *
 * Amounts are decimal strings. A key is in no message.
 */

export const paths = { sign: "/v1/sign", wallets: "/v1/wallets" } as const;

/** The largest transaction that nodes take has 128 KiB, twice that in hex. */
export const mostOrderBytes = 300_000;

/** An order for a wallet, as it came. */
export interface WalletOrder extends SigningOrder {
  wallet: Address;
}

export function writeOrder(wallet: Address, { kind, transaction }: SigningOrder): string {
  const { chainId, nonce, to, data, value, gas, maxFeePerGas, maxPriorityFeePerGas } = transaction;
  return JSON.stringify({
    ...{ kind, wallet, chainId, nonce, to, data },
    ...{ value: `${value}`, gas: `${gas}`, maxFeePerGas: `${maxFeePerGas}` },
    maxPriorityFeePerGas: `${maxPriorityFeePerGas}`,
  });
}

const kinds: readonly SigningKind[] = ["deploy", "update", "noop", "grant"];
const members = [
  ...["kind", "wallet", "chainId", "nonce", "to", "data"],
  ...["value", "gas", "maxFeePerGas", "maxPriorityFeePerGas"],
];

/** @throws Error naming the member that is not what it has to be. Nothing is guessed, and nothing more is taken. */
export function readOrder(text: string): WalletOrder {
  const given: unknown = JSON.parse(text);
  if (typeof given !== "object" || given === null || Array.isArray(given)) throw new Error("an object is wanted");
  const order = given as Record<string, unknown>;
  const extra = Object.keys(order).find((name) => !members.includes(name));
  if (extra !== undefined) throw new Error("a member that no order has");
  const string = (name: string, shape: RegExp): string => {
    const value = order[name];
    if (typeof value !== "string" || !shape.test(value)) throw new Error(`${name} is not what is wanted`);
    return value;
  };
  const whole = (name: string): number => {
    const value = order[name];
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0)
      throw new Error(`${name}: a whole number is wanted`);
    return value;
  };
  const amount = (name: string) => BigInt(string(name, /^\d{1,78}$/));
  const address = (name: string) => string(name, /^0x[0-9a-fA-F]{40}$/).toLowerCase() as Address;
  const kind = kinds.find((candidate) => candidate === order["kind"]);
  if (!kind) throw new Error("kind is not what is wanted");
  return {
    kind,
    wallet: address("wallet"),
    transaction: {
      chainId: whole("chainId"),
      nonce: whole("nonce"),
      to: address("to"),
      data: string("data", /^0x(?:[0-9a-fA-F]{2})*$/) as Hex,
      value: amount("value"),
      gas: amount("gas"),
      maxFeePerGas: amount("maxFeePerGas"),
      maxPriorityFeePerGas: amount("maxPriorityFeePerGas"),
    },
  };
}
