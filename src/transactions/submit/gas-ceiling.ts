import type { Plan } from "../../auth/plan.ts";
import type { IntentKind } from "../../db/tables/relay.ts";
import { ServiceError } from "../../errors/errors.ts";

/** What a request takes of gas, and the most that its transaction may take. */
export interface CountedGas {
  /** By this it counts in the plan's days and months: once for each `countedGas` that it begins (`service.weight_of`). */
  gas: bigint;
  /** By the plan; null: no limit. */
  ceiling: bigint | null;
}

/** So much gas counts as one deployment, update or action. */
export const countedGas = 500_000n;

interface AskedGas {
  kind: IntentKind;
  /** Of the deployment's data that are not zero, or of the update's request; not looked at where there is an estimate. */
  bytes: number;
  /** What a node says that it takes; null: it was not simulated. */
  estimate: bigint | null;
  /** Of a mint, burn or transfer. */
  tokens?: number;
}

/**
 * Counts a request's gas against its plan.
 *
 * @throws ServiceError `plan_limit_exceeded` over the plan's ceiling, before anything is stored.
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
 * Of collections, whose calls lead to no third party: what their texts take, rounded up a little. What the operator carries out
 * is simulated before; where that could not be, the ceiling is held against it before it is signed.
 */
function usualGas({ kind, bytes }: AskedGas): bigint {
  // Code that is stored, or fresh words of storage; a request has names of members beside the texts.
  if (kind === "deploy") return 120_000n + 260n * BigInt(bytes);
  return kind === "update" ? 150_000n + 750n * BigInt(Math.max(0, bytes - 150)) : 0n;
}

function shown(gas: bigint): string {
  return gas.toLocaleString("en");
}
