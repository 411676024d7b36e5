import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { readChainPace } from "../transactions/chain/view.ts";
import { isUndecided } from "../transactions/lifecycle.ts";
import type { ChainRequest } from "./requests.ts";

/** A transaction's progress towards confirmation. */
interface ConfirmationProgress {
  /** Confirming blocks, its own included; null while no node answers. */
  confirmations: bigint | null;
  required: number;
  /** Until the last confirmation, at the chain's recent block time; null where that is not known. */
  secondsLeft: bigint | null;
  /** For people: `12 of 64 confirmations, about 100 s`. */
  text: string;
}

/** @returns null once there is nothing to wait for. */
export async function readProgress(
  services: Services,
  { state, chain, block }: Pick<ChainRequest, "state" | "chain" | "block">,
): Promise<ConfirmationProgress | null> {
  return isUndecided(state) ? await progressFrom(services, chain, block) : null;
}

/** @param minedBlock null while it is in no block. */
async function progressFrom(
  services: Services,
  chain: Chain,
  minedBlock: bigint | null,
): Promise<ConfirmationProgress> {
  const required = chain.confirmations;
  const needed = required === 1 ? "1 confirmation" : `${required} confirmations`;
  const pace = await readChainPace(services.relay.nodes(chain), chain);
  if (!pace)
    return {
      confirmations: minedBlock === null ? 0n : null,
      required,
      secondsLeft: null,
      text: `in ${minedBlock === null ? "no block yet" : "a block"}; it takes ${needed}`,
    };
  const depth = minedBlock === null || minedBlock > pace.head ? 0n : pace.head - minedBlock + 1n;
  const confirmations = depth < BigInt(required) ? depth : BigInt(required);
  const missing = BigInt(required) - confirmations;
  const secondsLeft = pace.blockMs === null ? null : (missing * pace.blockMs + 999n) / 1_000n;
  const time = secondsLeft === null || missing === 0n ? "" : `, about ${roundedSeconds(secondsLeft)} s`;
  return {
    confirmations,
    required,
    secondsLeft,
    text: minedBlock === null ? `in no block yet; then ${needed}${time}` : `${confirmations} of ${needed}${time}`,
  };
}

/** The error for a client that asks for the outcome of an undecided request. */
export async function pendingError(
  services: Services,
  { chain, block }: Pick<ChainRequest, "chain" | "block">,
): Promise<ServiceError> {
  const { text, confirmations, required } = await progressFrom(services, chain, block);
  return new ServiceError("transaction_pending", `the transaction is not confirmed yet: ${text}`, {
    retryAfterSeconds: 2,
    details: { confirmations: confirmations === null ? null : String(confirmations), required },
  });
}

/** Rounds to two digits: an estimate from a mean block time is no more exact. */
function roundedSeconds(seconds: bigint): bigint {
  const unit = 10n ** BigInt(Math.max(String(seconds).length - 2, 0));
  return ((seconds + unit / 2n) / unit) * unit;
}
