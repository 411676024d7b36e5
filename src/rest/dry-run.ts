import { getAddress } from "viem";
import type { Caller } from "../auth/caller.ts";
import { type DeploymentPlan, planDeployment } from "../collections/deploy-collection.ts";
import { withFieldNames } from "../collections/problems.ts";
import type { UpdatePlan } from "../collections/update-collection.ts";
import { ServiceError } from "../errors/errors.ts";
import type { PlannedCost } from "../requests/simulate.ts";
import type { Services } from "../services.ts";
import { type DeploymentRequest, legacyName, type readDeployment } from "./deployment-body.ts";
import type { Input } from "./input.ts";
import { decimalOf } from "./native-amount.ts";
import { RawJson } from "./raw-json.ts";

interface Problem {
  field?: string;
  code: string;
  message: string;
}

/**
 * Plans a deployment and throws every problem of the request together: also those that can only be seen
 * once a faulty member is taken for a harmless one.
 */
export async function planRequest(
  services: Services,
  caller: Caller,
  input: Input,
  request: ReturnType<typeof readDeployment>,
  idempotencyKey: string | undefined,
): Promise<DeploymentPlan> {
  const faults = input.faults();
  if (faults.length === 0) {
    const whole = { ...(request as DeploymentRequest), idempotencyKey };
    return await withFieldNames(planDeployment(services, caller, whole), legacyName);
  }
  const harmless = { ...standIns(services), ...present(request), idempotencyKey };
  const known = new Set(faults.map(({ field }) => field?.replace(/\[.*$/, "")));
  const further = await planDeployment(services, caller, harmless).then(
    () => [],
    (error: unknown) => problemsOf(error),
  );
  const renamed = further.map((problem) => ({ ...problem, field: legacyName(problem.field ?? "") }));
  const problems = [
    ...faults.map(({ field, code, message }) => ({ field, code, message })),
    ...renamed.filter(({ field }) => !known.has(field) && !known.has(`${field}_date`)),
  ];
  const [first] = faults;
  throw new ServiceError(first?.code ?? "value_error", first?.message ?? "", {
    ...(first?.field === undefined ? {} : { field: first.field }),
    details: { problems },
  });
}

/** Names of unknown members that are reported; a body may have thousands. */
const mostUnknown = 10;

/**
 * Old clients send members of their own, so unknown ones are ignored; but a misspelt one is a request that is not carried
 * out, and of what it asked for much cannot be changed later.
 */
function warnOfUnknown(input: Input): string[] {
  const unknown = input.unknown();
  const warnings = unknown
    .slice(0, mostUnknown)
    .map((name) => `${JSON.stringify(name.slice(0, 64))} is no member of this request and is ignored`);
  const more = unknown.length - warnings.length;
  return more > 0 ? [...warnings, `${more} further members are ignored`] : warnings;
}

/** The members of a plan's answer. @param input after all of the request was read from it. */
export function planBody(plan: DeploymentPlan, chain: string, input: Input): Record<string, unknown> {
  return {
    dry_run: true,
    chain,
    predicted_address: getAddress(plan.predictedAddress),
    idempotency_key: plan.idempotencyKey,
    ...costBody(plan),
    warnings: [...plan.warnings, ...warnOfUnknown(input)],
  };
}

/** The members of an update's plan. @param input after all of the request was read from it. */
export function updatePlanBody(plan: UpdatePlan, chain: string, input: Input): Record<string, unknown> {
  return {
    dry_run: true,
    chain,
    contract_address: getAddress(plan.collection),
    ...costBody(plan),
    warnings: [...plan.warnings, ...warnOfUnknown(input)],
  };
}

function costBody({ gas, maxFeePerGasWei, costWei, maxCostWei }: PlannedCost): Record<string, unknown> {
  return {
    gas: Number(gas),
    max_fee_per_gas: String(maxFeePerGasWei),
    cost: new RawJson(decimalOf(costWei)),
    max_cost: new RawJson(decimalOf(maxCostWei)),
  };
}

/** A request without fault, for the members that have one. */
function standIns(services: Services) {
  const wallet = `0x${"5a".repeat(20)}`;
  const deployable = services.chains.find((chain) => chain.factory !== null);
  return {
    chain: deployable?.name ?? "",
    name: "-",
    symbol: "-",
    maxSupply: 1n,
    tokensPerMint: 1n,
    mintPriceWei: 0n,
    ownerAddress: wallet,
    treasuryAddress: wallet,
    publicMintStart: new Date(),
  };
}

function present<T extends object>(request: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined)) as never;
}

function problemsOf(error: unknown): Problem[] {
  if (!(error instanceof ServiceError)) throw error;
  const problems = error.details?.["problems"];
  if (Array.isArray(problems)) return problems as Problem[];
  // The node's silence says nothing about the request.
  if (error.retryable) return [];
  return [{ ...(error.field === undefined ? {} : { field: error.field }), code: error.code, message: error.message }];
}
