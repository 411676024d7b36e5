import { sql } from "kysely";
import type { Address, Hash } from "viem";
import type { Caller } from "../auth/caller.ts";
import { type Chain, findChain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import { newestRequests, selectRequests, toRequest } from "../requests/requests.ts";
import type { Services } from "../services.ts";
import type { ContractChanges, OperationToken } from "../transactions/store/payloads.ts";
import type { ContractPayload, ProductRequest } from "./find-product.ts";
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

interface MintPage {
  /** Each token that a mint made, of a batch in its order. */
  nfts: { mint: ProductRequest; token: OperationToken }[];
  /** Of all pages. */
  total: number;
}

/** A page by number is found by counting: so many tokens at most. */
const mostSkipped = 10_000;
const unsigned = ["queued", "held", "assigned", "cancelled", "expired", "failed_onchain"] as const;

/**
 * One page of the tokens that the caller's mints made or are making, newest first, as old clients ask for them: by number.
 *
 * @param input `chain` as sent; absent: all. `pageNumber` from 1.
 * @throws ServiceError `value_error` for a page too far from the newest mint.
 */
export async function listMints(
  services: Services,
  caller: Caller,
  input: { chain?: string | undefined; pageNumber?: number | undefined; pageSize: number },
): Promise<MintPage> {
  const skipped = ((input.pageNumber ?? 1) - 1) * input.pageSize;
  if (skipped > mostSkipped)
    throw new ServiceError("value_error", `pages reach ${mostSkipped} tokens back`, { field: "page_number" });
  const chain = input.chain === undefined ? null : findChain(services.chains, input.chain);
  const chains = chain ? [chain.id] : services.chains.map(({ id }) => id);
  const tokens = sql<{
    token: OperationToken;
    at: bigint;
  }>`LATERAL jsonb_array_elements(i.payload -> 'tokens') WITH ORDINALITY`;
  const [rows, { total }] = await Promise.all([
    newestRequests(services, caller, ["mint"])
      .innerJoin(tokens.as<"t">(sql`t (token, at)`), (join) => join.onTrue())
      .select("t.token")
      .where("i.chain_id", "in", [...chains, -1])
      .where("i.state", "not in", [...unsigned])
      .orderBy("t.at")
      .limit(input.pageSize)
      .offset(skipped)
      .execute(),
    services.db
      .selectFrom("service.intent as i")
      .select(sql<bigint>`coalesce(sum(jsonb_array_length(i.payload -> 'tokens')), 0)::bigint`.as("total"))
      .where("i.tenant_id", "=", caller.accountId)
      .where("i.kind", "=", "mint")
      .where("i.chain_id", "in", [...chains, -1])
      .where("i.state", "not in", [...unsigned, "retried"])
      .executeTakeFirstOrThrow(),
  ]);
  return {
    nfts: rows.map((row) => ({ mint: toRequest<ProductRequest>(services, row), token: row.token })),
    total: Number(total),
  };
}
