import type { Hex } from "viem";
import { serializeSignature } from "viem/accounts";
import { keccak256, numberToHex } from "viem/utils";
import { errorCodes, mostRequests, parseJson, type RpcError } from "./json-rpc.ts";
import { signatureIn } from "./signer.ts";

/*
 * Translates the requests of processes of version 0.2.0 into JSON-RPC. Once no upgrade starts from that version, this
 * file can be deleted, with its test and its lines in signer-server.ts.
 *
 *   POST /v1/sign      an order        200 {"signature":"0x…","hash":"0x…"}; 403 {"refused":"…","reason":"roles"}; 400, 503
 *   POST /v1/sign-many {"orders":[…]}  200 {"answers":[{"status":200,"signature":"0x…","hash":"0x…"},…]}, in their order
 *   GET  /v1/wallets                   200 {"wallets":{"137":["0x…"]},"room":{"137":"6000000000000000000000"}}
 */

export const oldPaths = { sign: "POST /v1/sign", signMany: "POST /v1/sign-many", wallets: "GET /v1/wallets" } as const;

/** Answers `eth_signTransaction`. */
type Sign = (order: unknown) => Promise<{ result?: unknown; error?: RpcError }>;

interface OldAnswer {
  status: number;
  body: Record<string, unknown>;
}

export async function signOld(text: string, sign: Sign): Promise<OldAnswer> {
  return await answer(parseJson(text), sign);
}

export async function signManyOld(text: string, sign: Sign): Promise<OldAnswer> {
  const { orders } = (parseJson(text) ?? {}) as { orders?: unknown };
  if (!Array.isArray(orders) || orders.length === 0 || orders.length > mostRequests)
    return invalid(`one to ${mostRequests} orders are wanted`);
  const answers = await Promise.all(orders.map((order) => answer(order, sign)));
  return { status: 200, body: { answers: answers.map(({ status, body }) => ({ status, ...body })) } };
}

async function answer(order: unknown, sign: Sign): Promise<OldAnswer> {
  const { result, error } = await sign(asParameter(order));
  if (!error) {
    const raw = result as Hex;
    const signature = signatureIn(raw);
    return { status: 200, body: { signature: signature && serializeSignature(signature), hash: keccak256(raw) } };
  }
  const { code, message, data } = error;
  if (code === errorCodes.params) return invalid(message);
  if (code === errorCodes.rejected) return { status: 403, body: { refused: message, ...data } };
  return { status: code === errorCodes.unavailable ? 503 : 500, body: { error: message } };
}

/** An invalid order stays invalid. */
function asParameter(order: unknown): unknown {
  if (typeof order !== "object" || order === null || Array.isArray(order)) return order;
  const given: Record<string, unknown> = { ...order };
  const { wallet, chainId, nonce, value, gas, maxFeePerGas, maxPriorityFeePerGas, legacy, ...rest } = given;
  const whole = (given: unknown) =>
    Number.isSafeInteger(given) && Number(given) >= 0 ? numberToHex(Number(given)) : null;
  const amount = (given: unknown) =>
    typeof given === "string" && /^\d{1,78}$/.test(given) ? numberToHex(BigInt(given)) : null;
  const fees =
    legacy === true && maxFeePerGas === maxPriorityFeePerGas
      ? { gasPrice: amount(maxFeePerGas) }
      : { maxFeePerGas: amount(maxFeePerGas), maxPriorityFeePerGas: amount(maxPriorityFeePerGas) };
  const amounts = { chainId: whole(chainId), nonce: whole(nonce), value: amount(value), gas: amount(gas), ...fees };
  // Old orders did not have these members.
  const isOdd = "from" in rest || "gasPrice" in rest || (legacy !== undefined && !("gasPrice" in fees));
  return { ...rest, ...(isOdd ? { odd: true } : {}), from: wallet, ...amounts };
}

function invalid(error: string): OldAnswer {
  return { status: 400, body: { error } };
}
