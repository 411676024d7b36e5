import { sql } from "kysely";
import type { Address, Hash } from "viem";
import type { Caller } from "../auth/caller.ts";
import type { Chain } from "../chains.ts";
import type { ContractChanges } from "../relay/store/operation-payload.ts";
import type { Services } from "../services.ts";
import { selectRequests, toRequest } from "../transactions/requests.ts";
import type { ContractPayload, ProductRequest } from "./contract-payload.ts";
import type { RoleList } from "./product-calls.ts";

/** A product contract of an account that stands, with its settings as of the last update that the service sent. */
export interface ListedProduct {
  chain: Chain;
  address: Address;
  /** Of the deployment. */
  transactionHash: Hash | null;
  /** Unix microseconds of the request. */
  createdMicros: bigint;
  settings: ContractPayload;
  /** The service gave its rights on the contract up. */
  exited: boolean;
}

/** An account has at most so many contracts by its plan; the list is bounded all the same. */
const mostListed = 1_000;

/** The product contracts of the caller's account that stand, newest first. */
export async function listProducts(services: Services, caller: Caller): Promise<ListedProduct[]> {
  const rows = await selectRequests(services.db, ["contract"])
    .select(
      sql<ContractChanges[] | null>`(SELECT jsonb_agg(u.payload -> 'changes' ORDER BY u.seq) FROM service.intent u
        WHERE u.kind = 'contract_update' AND u.chain_id = i.chain_id AND u.predicted_addr = i.predicted_addr
          AND u.state IN ('confirmed', 'finalized'))`.as("changes"),
    )
    .where("i.tenant_id", "=", caller.accountId)
    .where("i.state", "in", ["confirmed", "finalized"])
    .where("i.chain_id", "in", [...services.chains.map((chain) => chain.id), -1])
    .orderBy("i.created_at", "desc")
    .orderBy("i.id", "desc")
    .limit(mostListed)
    .execute();
  return rows.map((row) => toProduct(toRequest<ProductRequest>(services, row), row.changes ?? []));
}

function toProduct(request: ProductRequest, changes: readonly ContractChanges[]): ListedProduct {
  const settings = changes.reduce(applyChanges, request.payload as ContractPayload);
  const { chain, contract: address, transactionHash, createdMicros } = request;
  return { chain, address, transactionHash, createdMicros, settings, exited: changes.some(({ exit }) => exit) };
}

function applyChanges(settings: ContractPayload, changes: ContractChanges): ContractPayload {
  const given = changes.roles ?? [];
  const roles: RoleList[] = [
    ...settings.roles.map((list) => given.find(({ role }) => role === list.role) ?? list),
    ...given.filter(({ role }) => !settings.roles.some((list) => list.role === role)),
  ];
  return {
    ...settings,
    baseUri: changes.baseUri ?? settings.baseUri,
    royaltiesBps: changes.royaltiesBps ?? settings.royaltiesBps,
    royaltiesAddress: changes.royaltiesAddress ?? settings.royaltiesAddress,
    metadataUpdatable: settings.metadataUpdatable && !changes.freezeMetadata,
    roles,
  };
}
