import { sql } from "kysely";
import type { Address, Hash } from "viem";
import type { Caller } from "../auth/caller.ts";
import { type Chain, findChain } from "../chains.ts";
import { toAddress, toBytes, toHash } from "../db/bytes.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import type { DeploymentPayload } from "./deployment-input.ts";

/** An account's collection that is confirmed on its chain. */
export interface Collection {
  id: string;
  chain: Chain;
  address: Address;
  /** Of its deployment. */
  transactionHash: Hash;
  block: bigint;
  /** Time of the request in Unix microseconds. */
  createdMicros: bigint;
  /** False: one of the creator's own wallets deployed it. */
  relayed: boolean;
  /** As requested by the deployment and the updates since, as spelled there. */
  settings: DeploymentPayload;
  /** Null for an empty presale list. */
  allowlistId: string | null;
  /** The presale list as spelled in the request, without repeats; empty where it was not asked for. */
  allowlist: readonly string[];
}

/**
 * One collection of the caller's account.
 *
 * @throws ServiceError `not_found`, also for another account's collection and for one that is not confirmed yet.
 */
export async function getCollection(
  services: Services,
  caller: Caller,
  input: { chain: string; address: Address },
): Promise<Collection> {
  const chain = findChain(services.chains, input.chain);
  const row = await select(services, caller, chain).where("c.address", "=", toBytes(input.address)).executeTakeFirst();
  if (row) return toCollection(chain, row);
  throw new ServiceError("not_found", "no collection of this account stands at this address", { field: "address" });
}

/** All collections of the caller's account on a chain, newest first. */
export async function listCollections(
  services: Services,
  caller: Caller,
  chainName: string,
  include: { allowlists: boolean },
): Promise<Collection[]> {
  const chain = findChain(services.chains, chainName);
  const rows = await select(services, caller, chain)
    .$if(include.allowlists, (query) =>
      query.leftJoin("service.allowlist as a", "a.id", "c.allowlist_id").select("a.entries"),
    )
    .orderBy("c.created_at", "desc")
    .orderBy("c.id", "desc")
    .execute();
  return rows.map((row) => toCollection(chain, row));
}

/** The account's collections at the given addresses, in their order; null where it has none. */
export async function getCollectionsAt(
  services: Services,
  caller: Caller,
  chain: Chain,
  addresses: readonly Address[],
): Promise<(Collection | null)[]> {
  const rows = await select(services, caller, chain).where("c.address", "in", addresses.map(toBytes)).execute();
  const found = new Map(rows.map((row) => [toAddress(row.address).toLowerCase(), row]));
  return addresses.map((address) => {
    const row = found.get(address.toLowerCase());
    return row ? toCollection(chain, row) : null;
  });
}

function select(services: Services, caller: Caller, chain: Chain) {
  return services.db
    .selectFrom("service.collection as c")
    .select(["c.id", "c.address", "c.tx_hash", "c.block_number", "c.relayed", "c.settings", "c.allowlist_id"])
    .select(sql<bigint>`(extract(epoch FROM c.created_at) * 1000000)::bigint`.as("created"))
    .where("c.tenant_id", "=", caller.accountId)
    .where("c.chain_id", "=", chain.id);
}

type Row = Awaited<ReturnType<ReturnType<typeof select>["executeTakeFirstOrThrow"]>> & { entries?: string[] | null };

function toCollection(chain: Chain, row: Row): Collection {
  return {
    id: row.id,
    chain,
    address: toAddress(row.address),
    transactionHash: toHash(row.tx_hash),
    block: row.block_number,
    createdMicros: row.created,
    relayed: row.relayed,
    settings: row.settings as DeploymentPayload,
    allowlistId: row.allowlist_id,
    allowlist: row.entries ?? [],
  };
}
