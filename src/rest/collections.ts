import { type Address, getAddress } from "viem";
import type { Caller } from "../auth/caller.ts";
import { type DeploymentPlan, deployCollection, planDeployment } from "../collections/deploy-collection.ts";
import type { DeployCollectionInput } from "../collections/deployment-input.ts";
import { withFieldNames } from "../collections/problems.ts";
import { planUpdate, updateCollection } from "../collections/update-collection.ts";
import { ServiceError } from "../errors/errors.ts";
import type { PlannedCost } from "../requests/simulate.ts";
import type { Services } from "../services.ts";
import { ok, okRaw, RawJson } from "./answer.ts";
import { bodyOf, type V0App } from "./app.ts";
import { Input } from "./input.ts";
import { queryInput } from "./query.ts";
import { decimalOf, legacyName, transactionMembers } from "./values.ts";

/** A presale list of the largest size, and then some: the use case is the one to say that it is too long. */
const listValues = 200_000;

export function addCollections(app: V0App, services: Services): void {
  app.post("/contracts/collections", async (c) => {
    const query = queryInput(c);
    const dryRun = query.boolean("dry_run");
    query.check();
    const caller = c.get("caller");
    const input = Input.fromBody(await bodyOf(c, services, listValues));
    const read = readDeployment(input);
    const idempotencyKey = c.req.header("Idempotency-Key");
    if (dryRun) {
      const plan = await planRequest(services, caller, input, read, idempotencyKey);
      const { predictedAddress, idempotencyKey: key } = plan;
      const own = { predicted_address: getAddress(predictedAddress), idempotency_key: key };
      return okRaw(c, planBody(plan, read.chain ?? "", input, own));
    }
    input.check();
    // What is required and missing was a fault.
    const request = read as DeployCollectionInput;
    const result = await withFieldNames(deployCollection(services, caller, { ...request, idempotencyKey }), legacyName);
    const { deployment } = result;
    c.header("Idempotency-Key", result.idempotencyKey);
    const { chain, ownerAddress, name, symbol } = request;
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
    const { chain = "", collection = "", ...changes } = readUpdate(input);
    input.check();
    const key = { chain, collection: collection.toLowerCase() as Address };
    if (dryRun) {
      const plan = await withFieldNames(planUpdate(services, c.get("caller"), { ...key, ...changes }), legacyName);
      return okRaw(c, planBody(plan, chain, input, { contract_address: getAddress(plan.collection) }));
    }
    const idempotencyKey = c.req.header("Idempotency-Key");
    const result = await withFieldNames(
      updateCollection(services, c.get("caller"), { ...key, ...changes, idempotencyKey }),
      legacyName,
    );
    c.header("Idempotency-Key", result.idempotencyKey);
    return ok(c, { chain, ...transactionMembers(result.update, chain) });
  });
}

/** The members of a deployment request under all their spellings. Faults are left in `input`. */
function readDeployment(input: Input) {
  const required = { required: true };
  return {
    chain: input.text("chain", required),
    name: input.text("name", required),
    symbol: input.text("symbol", required),
    maxSupply: input.integer("max_supply", required),
    reservedSupply: input.integer("team_reserve"),
    tokensPerMint: input.integer("tokens_per_mint", required),
    mintPriceWei: input.wei("mint_price", required),
    presaleMintPriceWei: input.wei("presale_mint_price"),
    ownerAddress: input.address("owner_address", required),
    treasuryAddress: input.address("treasury_address", required),
    publicMintStart: input.date(["public_mint_start", "public_mint_start_date"], required),
    metadataUpdatable: input.boolean("metadata_updatable"),
    ...readSettings(input),
  };
}

/** The members that deployments and updates have in common. */
function readSettings(input: Input) {
  return {
    presaleMintStart: input.date(["presale_mint_start", "presale_mint_start_date"]),
    allowlist: input.addresses("presale_whitelisted_addresses"),
    baseUri: input.text("base_uri", { emptyIsText: true }),
    prerevealTokenUri: input.text("prereveal_token_uri", { emptyIsText: true }),
    royaltiesBps: input.integer(["royalties_share", "royalty_share"]),
    royaltiesAddress: input.address(["royalties_address", "royalty_address"]),
  };
}

/** The members of an update; those that never change are only compared. Faults are left in `input`. */
function readUpdate(input: Input) {
  return {
    chain: input.text("chain", { required: true }),
    collection: input.address("contract_address", { required: true }),
    publicMintStart: input.date(["public_mint_start", "public_mint_start_date"]),
    ...readSettings(input),
    freezeMetadata: input.boolean("freeze_metadata"),
    fixed: {
      name: input.text("name"),
      symbol: input.text("symbol"),
      maxSupply: input.integer("max_supply"),
      reservedSupply: input.integer("team_reserve"),
      tokensPerMint: input.integer("tokens_per_mint"),
      mintPriceWei: input.wei("mint_price"),
      treasuryAddress: input.address("treasury_address"),
    },
  };
}

interface Problem {
  field?: string;
  code: string;
  message: string;
}

/**
 * Plans a deployment and throws every problem of the request together: also those that can only be seen
 * once a faulty member is taken for a harmless one.
 */
async function planRequest(
  services: Services,
  caller: Caller,
  input: Input,
  request: ReturnType<typeof readDeployment>,
  idempotencyKey: string | undefined,
): Promise<DeploymentPlan> {
  const faults = input.faults();
  if (faults.length === 0) {
    const whole = { ...(request as DeployCollectionInput), idempotencyKey };
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
    field: first?.field,
    fix: first?.fix,
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
