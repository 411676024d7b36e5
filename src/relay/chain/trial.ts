import { type Address, type Hex, pad } from "viem";
import { toAddress } from "../../db/bytes.ts";
import type { RpcCall, RpcResult } from "../../rpc/batch.ts";
import type { Intent } from "../store/intents.ts";
import type { IntentCall } from "./encode-call.ts";
import { intrinsicGas } from "./fees.ts";
import { isOperation, replacesRecord } from "./operation.ts";
import { calls } from "./reads.ts";

/** For so long a request's own estimate is tried: the price of data in gas changes, where a chain has one. */
const estimateLastsMs = 60_000;

/**
 * With what gas a request is run that was simulated when it was accepted. A node finds an estimate by running the call about
 * ten times; whether that gas still suffices it finds by one.
 *
 * @returns null when it has to be estimated.
 */
export function gasOfTrial({ kind, gas, created_at }: Intent, { data }: IntentCall): bigint | null {
  if (!isOperation(kind) || replacesRecord(kind) || gas === null || gas < intrinsicGas(data)) return null;
  return Date.now() - created_at.getTime() < estimateLastsMs ? gas : null;
}

/** @param gas of a trial; null: it is estimated. */
export function simulation(sender: Address, { to, data }: IntentCall, gas: bigint | null): RpcCall {
  return gas === null ? calls.estimate(sender, to, data) : calls.run(sender, to, data, gas);
}

/** Where the bytes begin that `execute` returns. */
const anyBytes: Hex = `0x${"20".padStart(64, "0")}`;

/** Whether the operator's call was carried out in a trial. Some nodes give a revert as a result, or none at all. */
export function hasRun({ kind, predicted_addr }: Intent, answer: RpcResult | undefined): boolean {
  if (!answer || "error" in answer || typeof answer.result !== "string") return false;
  const result = answer.result.toLowerCase();
  return kind === "contract" ? result === pad(toAddress(predicted_addr)) : result.startsWith(anyBytes);
}
