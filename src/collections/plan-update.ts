import { sql } from "kysely";
import { type Address, encodeFunctionData } from "viem";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import type { RuntimeConfig } from "../../contracts/abi/config.ts";
import type { Caller } from "../auth/caller.ts";
import { type Chain, findChain } from "../chains.ts";
import type { Services } from "../services.ts";
import { type PlannedCost, planCost } from "../transactions/simulate.ts";
import { checkAgainstChain, frozen } from "./check-against-chain.ts";
import { warnOfBaseUri, warnOfChecksums, warnOfSales } from "./check-deployment.ts";
import { checkUpdate } from "./check-update.ts";
import { getCollection } from "./collections.ts";
import { isBeingFrozen } from "./update-collection.ts";
import type { UpdateCollectionInput } from "./update-input.ts";

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
