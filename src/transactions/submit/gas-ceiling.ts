import type { Plan } from "../../auth/plan.ts";
import type { IntentKind } from "../../db/tables/relay.ts";
import { ServiceError } from "../../errors/errors.ts";

/** A request's gas, and the most that its transaction may use. */
export interface CountedGas {
  /** What the plan's days and months count: one for each `countedGas` begun (`service.weight_of`). */
  gas: bigint;
  /** The plan's ceiling; null: no limit. */
  ceiling: bigint | null;
}

/** This much gas counts as one deployment, update or action. */
export const countedGas = 500_000n;

interface AskedGas {
  kind: IntentKind;
  /** Non-zero bytes of the deployment's data, or bytes of the update's request; unused where there is an estimate. */
  bytes: number;
  /** A node's gas estimate; null: it was not simulated. */
  estimate: bigint | null;
  /** For a mint, burn or transfer. */
  tokens?: number;
}

/**
 * Checks a request's gas against its plan.
 *
 * @throws ServiceError `plan_limit_exceeded` above the plan's ceiling, before anything is stored.
 */
export function countGas(plan: Plan, asked: AskedGas): CountedGas {
  const gas = asked.estimate ?? usualGas(asked);
  const { ceiling, each, instead } = ceilingOf(plan, asked);
  if (ceiling === null || gas <= ceiling) return { gas, ceiling };
  throw new ServiceError(
    "plan_limit_exceeded",
    `this request takes about ${shown(gas)} gas, and your plan allows ${shown(ceiling)} for ${each}; nothing was stored or spent: ${instead}, or ask the operator for a plan with more`,
    { details: { gas: String(gas), allowed: String(ceiling) } },
  );
}

function ceilingOf({ deployGas, updateGas, tokenGas }: Plan, { kind, tokens = 1 }: AskedGas) {
  switch (kind) {
    case "deploy":
    case "contract":
      return { ceiling: deployGas, each: "a deployment", instead: "send shorter texts or fewer addresses with roles" };
    case "update":
    case "contract_update":
    case "token_update":
      return { ceiling: updateGas, each: "an update", instead: "send shorter texts or fewer addresses with roles" };
    case "mint":
    case "burn":
    case "transfer": {
      const ceiling = tokenGas === null ? null : tokenGas * BigInt(Math.max(1, tokens));
      const each = tokens > 1 ? `${tokens} tokens` : "a token";
      return { ceiling, each, instead: "name a receiver whose contract takes less, or a shorter URI" };
    }
    default:
      return kind satisfies never;
  }
}

/**
 * The usual gas of collections' requests, which call no third party: what their texts cost, rounded up a little. The
 * operator's requests are simulated first; where that was impossible, the ceiling is checked before signing.
 */
function usualGas({ kind, bytes }: AskedGas): bigint {
  // Stored code, or new storage words; a request also has member names in addition to the texts.
  if (kind === "deploy") return 120_000n + 260n * BigInt(bytes);
  return kind === "update" ? 150_000n + 750n * BigInt(Math.max(0, bytes - 150)) : 0n;
}

function shown(gas: bigint): string {
  return gas.toLocaleString("en");
}
