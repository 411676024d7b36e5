import type { Intent } from "../store/intents.ts";
import { tokensOf } from "../store/operation-payload.ts";

/** More take more gas than the operator gives a call of a batch: each writes its URI and a balance. */
const mostTokens = 8;

/** Whether a mint may share a transaction: its client knows it by its id, and it has shared none before. */
export function mayShare(intent: Intent): boolean {
  return (
    intent.kind === "mint" &&
    tokensOf(intent).together === true &&
    tokensOf(intent).tokens.length <= mostTokens &&
    intent.batch_lead === null &&
    intent.batch_call === null &&
    intent.retry_number === 0
  );
}
