import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { type Address, encodeFunctionData } from "viem";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import type { RuntimeConfig } from "../../contracts/abi/config.ts";
import type { Caller } from "../auth/caller.ts";
import { type Chain, findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { checkKey, idOfKey } from "../requests/carry-out.ts";
import { type PlannedCost, planCost } from "../requests/simulate.ts";
import type { Services } from "../services.ts";
import { storedKey } from "../transactions/accept/accept-intent.ts";
import { encodeDeploy } from "../transactions/chain/request-call.ts";
import { checkAgainstChain, frozen } from "./check-against-chain.ts";
import { checkDeployment, checkTreasury, warnOfBaseUri, warnOfChecksums, warnOfSales } from "./check-deployment.ts";
import { getCollection } from "./collections.ts";
import { draftDeployment } from "./deploy-collection.ts";
import type { DeployCollectionInput } from "./deployment-input.ts";
import { Problems } from "./problems.ts";
import { checkUpdate, isBeingFrozen, type UpdateCollectionInput } from "./update-collection.ts";

/** What a deployment would do; nothing of it was stored, signed or spent. */
export interface DeploymentPlan extends PlannedCost {
  chain: Chain;
  /** Deploy the same request with this key, and the collection will be at `predictedAddress`. */
  idempotencyKey: string;
  predictedAddress: Address;
  warnings: string[];
}

/**
 * Checks a deployment in every way short of doing it: the request, the treasury, and the transaction by
 * simulation.
 *
 * @throws ServiceError the gravest fault, all of them in `details.problems`; `service_unavailable` while the
 *   node does not answer.
 */
export async function planDeployment(
  services: Services,
  caller: Caller,
  input: DeployCollectionInput,
): Promise<DeploymentPlan> {
  const problems = new Problems();
  const key = problems.attempt(() => checkKey(input.idempotencyKey));
  const checked = await problems.attemptLater(() => checkDeployment(services, caller, input));
  await problems.attemptLater(() =>
    checkTreasury(services, findChain(services.chains, input.chain), input.treasuryAddress),
  );
  problems.check();
  if (!checked) throw new Error("unreachable: what was not checked was a problem");
  const { chain } = checked;
  const idempotencyKey = key ?? randomUUID();
  const id = idOfKey(caller, storedKey(idempotencyKey));
  const { owner, initData, predicted, factory: to } = await draftDeployment(services, checked, id);
  const data = encodeDeploy({ root_id: id, owner: toBytes(owner), init_data: toBytes(initData) });
  return {
    chain,
    idempotencyKey,
    predictedAddress: predicted,
    ...(await planCost(services, chain, { to, data })),
    warnings: checked.warnings,
  };
}

/** What an update would do; nothing of it was stored, signed or spent. */
export interface UpdatePlan extends PlannedCost {
  chain: Chain;
  collection: Address;
  warnings: string[];
}

/**
 * Checks an update in every way short of doing it: the request, the collection as the chain has it now, and the
 * transaction by simulation.
 *
 * @throws ServiceError what `updateCollection` throws for the same input, and `value_error` when the chain would refuse it.
 */
export async function planUpdate(
  services: Services,
  caller: Caller,
  input: UpdateCollectionInput,
): Promise<UpdatePlan> {
  const chain = findChain(services.chains, input.chain);
  const collection = await getCollection(services, caller, { chain: input.chain, address: input.collection });
  const { changes, allowlist } = await checkUpdate(services, caller, chain, input);
  if (await isBeingFrozen(services, chain, input.collection)) throw frozen("is being frozen by an earlier update");
  const { current, next } = await checkAgainstChain(services, chain, collection, changes, input.fixed ?? {});
  const data = encodeFunctionData({ abi: collectionAbi, functionName: "updateConfig", args: [next] });
  const [cost, listed] = await Promise.all([
    planCost(services, chain, { to: input.collection, data }),
    allowlist ? allowlist.entries.length : countListed(services, collection.allowlistId),
  ]);
  const { royaltiesAddress } = input;
  const warnings = [...warnOf(current, next, listed), ...warnOfChecksums({ royaltiesAddress })];
  return { chain, collection: input.collection, ...cost, warnings };
}

/** Legal, but probably not meant. */
function warnOf(current: RuntimeConfig, next: RuntimeConfig, listed: number): string[] {
  const now = BigInt(Math.floor(Date.now() / 1000));
  const { publicMintStart, presaleMintStart } = next;
  const members = Object.keys(next) as (keyof RuntimeConfig)[];
  const same = members.every((member) => String(next[member]).toLowerCase() === String(current[member]).toLowerCase());
  const opens = (member: "publicMintStart" | "presaleMintStart") =>
    next[member] !== current[member] && next[member] > 0n && next[member] <= now && current[member] > now;
  return [
    ...(same ? ["the collection has all of this already: the transaction would change nothing"] : []),
    ...(opens("publicMintStart") ? ["the public sale opens as soon as this is on the chain"] : []),
    ...(opens("presaleMintStart") ? ["the presale opens as soon as this is on the chain"] : []),
    ...warnOfSales({ publicMintStart, presaleMintStart, listed }),
    ...(next.baseURI === current.baseURI ? [] : warnOfBaseUri(next.baseURI)),
    ...(current.metadataUpdatable && !next.metadataUpdatable
      ? ["after this nobody can change the collection's settings any more"]
      : []),
  ];
}

async function countListed({ db }: Services, id: string | null): Promise<number> {
  if (id === null) return 0;
  const row = await db
    .selectFrom("service.allowlist")
    .select(sql<number>`cardinality(entries)`.as("wallets"))
    .where("id", "=", id)
    .executeTakeFirst();
  return row?.wallets ?? 0;
}
