import type { Address, Hex } from "viem";
import type { SigningKind, SigningOrder } from "./signer.ts";

/*
 * The protocol between the signer and its clients: HTTP on a Unix socket or on loopback, a bearer token, JSON.
 *
 *   POST /v1/sign      an order        200 {"signature":"0x…","hash":"0x…"}; 403 {"refused":"…","reason":"roles"}; 400, 401, 404, 413
 *   POST /v1/sign-many {"orders":[…]}  200 {"answers":[{"status":200,"signature":"0x…","hash":"0x…"},…]}, in their order:
 *                                      each has the status and the members that it would have had alone
 *   GET  /v1/wallets                   200 {"wallets":{"137":["0x…"]},"room":{"137":"6000000000000000000000"}}: what may
 *                                      still be signed today, in wei; null: nobody counts
 *
 * `reason` stands where the relay holds a request for it: `roles`, `day`.
 *
 * Amounts are decimal strings. A key is in no message.
 */

export const paths = { sign: "/v1/sign", signMany: "/v1/sign-many", wallets: "/v1/wallets" } as const;

/** Bytes of a request. The largest transaction that nodes take has 128 KiB, twice that in hex. */
export const mostOrderBytes = 300_000;
/** Orders of one request: they are signed one after the other, and the first waits for the last. */
export const mostOrders = 8;

/** An order for a wallet, as it came. */
export interface WalletOrder extends SigningOrder {
  wallet: Address;
}

export function writeOrder(wallet: Address, { kind, transaction }: SigningOrder): string {
  const { chainId, nonce, to, data, value, gas, maxFeePerGas, maxPriorityFeePerGas, legacy } = transaction;
  return JSON.stringify({
    ...{ kind, wallet, chainId, nonce, to, data },
    ...{ value: `${value}`, gas: `${gas}`, maxFeePerGas: `${maxFeePerGas}` },
    maxPriorityFeePerGas: `${maxPriorityFeePerGas}`,
    ...(legacy ? { legacy } : {}),
  });
}

/** @param orders as `writeOrder` wrote them. */
export function writeOrders(orders: readonly string[]): string {
  return `{"orders":[${orders.join(",")}]}`;
}

/** @throws Error saying what is wrong; of each order what `readOrder` throws comes when it is read. */
export function readOrders(text: string): (() => WalletOrder)[] {
  const { orders } = (JSON.parse(text) ?? {}) as { orders?: unknown };
  if (!Array.isArray(orders) || orders.length === 0) throw new Error("orders are wanted");
  if (orders.length > mostOrders) throw new Error(`more than ${mostOrders} orders`);
  return orders.map((order: unknown) => () => checkedOrder(order));
}

const kinds: readonly SigningKind[] = ["deploy", "update", "operate", "cancellation", "grant"];
const members = [
  ...["kind", "wallet", "chainId", "nonce", "to", "data"],
  ...["value", "gas", "maxFeePerGas", "maxPriorityFeePerGas", "legacy"],
];

/** @throws Error naming the member that is not what it has to be. Nothing is guessed, and nothing more is taken. */
export function readOrder(text: string): WalletOrder {
  return checkedOrder(JSON.parse(text));
}

function checkedOrder(given: unknown): WalletOrder {
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
  const { legacy } = order;
  if (legacy !== undefined && legacy !== true) throw new Error("legacy is true, or left out");
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
      ...(legacy ? { legacy } : {}),
    },
  };
}
