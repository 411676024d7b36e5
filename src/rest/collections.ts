import { getAddress } from "viem";
import type { Caller } from "../auth/caller.ts";
import { type DeploymentPlan, deployCollection, planDeployment } from "../collections/deploy-collection.ts";
import {
  type DeployCollectionInput,
  deployFields,
  fixedFields,
  updateFields,
} from "../collections/deployment-input.ts";
import { withFieldNames } from "../collections/problems.ts";
import { planUpdate, updateCollection } from "../collections/update-collection.ts";
import { ServiceError } from "../errors/errors.ts";
import { renamerOf } from "../requests/fields.ts";
import type { PlannedCost } from "../requests/simulate.ts";
import type { Services } from "../services.ts";
import { ok, okRaw, RawJson } from "./answer.ts";
import { bodyOf, type V0App } from "./app.ts";
import { readBody } from "./bodies.ts";
import { Input } from "./input.ts";
import { queryInput } from "./query.ts";
import { decimalOf, transactionMembers } from "./values.ts";

/** More than the largest presale list, so that the use case reports a list that is too long. */
const listValues = 200_000;

/** The member names of both bodies. */
const renamed = renamerOf("v0", { ...deployFields, ...updateFields });

export function addCollections(app: V0App, services: Services): void {
  app.post("/contracts/collections", async (c) => {
    const query = queryInput(c);
    const dryRun = query.boolean("dry_run");
    query.check();
    const caller = c.get("caller");
    const input = Input.fromBody(await bodyOf(c, services, listValues));
    const read = readBody(input, deployFields);
    const idempotencyKey = c.req.header("Idempotency-Key");
    if (dryRun) {
      const plan = await planRequest(services, caller, input, read, idempotencyKey);
      const { predictedAddress, idempotencyKey: key } = plan;
      const own = { predicted_address: getAddress(predictedAddress), idempotency_key: key };
      return okRaw(c, planBody(plan, read.chain, input, own));
    }
    input.check();
    const deployed = deployCollection(services, caller, { ...read, idempotencyKey });
    const result = await withFieldNames(deployed, renamed);
    const { deployment } = result;
    c.header("Idempotency-Key", result.idempotencyKey);
    const { chain, ownerAddress, name, symbol } = read;
    return ok(c, {
      chain,
      ...transactionMembers(deployment, chain),
      owner_address: ownerAddress,
      name,
      symbol,
      predicted_address: getAddress(deployment.contract),
    });
  });

  app.put("/contracts/collections", async (c) => {
    const query = queryInput(c);
    const dryRun = query.boolean("dry_run");
    query.check();
    const input = Input.fromBody(await bodyOf(c, services, listValues));
    const changes = { ...readBody(input, updateFields), fixed: readBody(input, fixedFields) };
    input.check();
    const { chain } = changes;
    if (dryRun) {
      const plan = await withFieldNames(planUpdate(services, c.get("caller"), changes), renamed);
      return okRaw(c, planBody(plan, chain, input, { contract_address: getAddress(plan.collection) }));
    }
    const idempotencyKey = c.req.header("Idempotency-Key");
    const updated = updateCollection(services, c.get("caller"), { ...changes, idempotencyKey });
    const result = await withFieldNames(updated, renamed);
    c.header("Idempotency-Key", result.idempotencyKey);
    return ok(c, { chain, ...transactionMembers(result.update, chain) });
  });
}

interface Problem {
  field?: string;
  code: string;
  message: string;
}

/**
 * Plans a deployment and throws all problems of the request at once, including those that only show once faulty members
 * are replaced by valid ones.
 */
async function planRequest(
  services: Services,
  caller: Caller,
  input: Input,
  request: DeployCollectionInput,
  idempotencyKey: string | undefined,
): Promise<DeploymentPlan> {
  const faults = input.faults();
  if (faults.length === 0) {
    return await withFieldNames(planDeployment(services, caller, { ...request, idempotencyKey }), renamed);
  }
  const harmless = { ...standIns(services), ...present(request), idempotencyKey };
  const known = new Set(faults.map(({ field }) => field?.replace(/\[.*$/, "")));
  const further = await planDeployment(services, caller, harmless).then(
    () => [],
    (error: unknown) => problemsOf(error),
  );
  const shown = further.map((problem) => ({ ...problem, field: renamed(problem.field ?? "") }));
  const problems = [
    ...faults.map(({ field, code, message }) => ({ field, code, message })),
    ...shown.filter(({ field }) => !known.has(field) && !known.has(`${field}_date`)),
  ];
  const [first] = faults;
  throw new ServiceError(first?.code ?? "value_error", first?.message ?? "", {
    field: first?.field,
    fix: first?.fix,
    details: { problems },
  });
}

/** Unknown member names that are reported; a body may have thousands. */
const mostUnknown = 10;

/**
 * Old clients send members of their own, so unknown ones are ignored with a warning: a misspelt member is not applied,
 * and much of a collection cannot be changed later.
 */
function warnOfUnknown(input: Input): string[] {
  const unknown = input.unknown();
  const warnings = unknown
    .slice(0, mostUnknown)
    .map((name) => `${JSON.stringify(name.slice(0, 64))} is no member of this request and is ignored`);
  const more = unknown.length - warnings.length;
  return more > 0 ? [...warnings, `${more} further members are ignored`] : warnings;
}

/** The members of a plan's answer. @param input after the whole request was read from it. */
function planBody(
  { gas, maxFeePerGasWei, costWei, maxCostWei, warnings }: PlannedCost & { warnings: readonly string[] },
  chain: string,
  input: Input,
  own: Record<string, unknown>,
): Record<string, unknown> {
  return {
    dry_run: true,
    chain,
    ...own,
    gas: Number(gas),
    max_fee_per_gas: String(maxFeePerGasWei),
    cost: new RawJson(decimalOf(costWei)),
    max_cost: new RawJson(decimalOf(maxCostWei)),
    warnings: [...warnings, ...warnOfUnknown(input)],
  };
}

/** A valid request, to replace faulty members. */
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
  // An unreachable node says nothing about the request.
  if (error.retryable) return [];
  return [{ ...(error.field === undefined ? {} : { field: error.field }), code: error.code, message: error.message }];
}
