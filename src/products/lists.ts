import { sql } from "kysely";
import { LRUCache } from "lru-cache";
import { type Address, type Hash, parseAbi } from "viem";
import type { Caller } from "../auth/caller.ts";
import { entryBound } from "../cache-bounds.ts";
import { type Chain, findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { ServiceError } from "../errors/errors.ts";
import { newestRequests, toRequest } from "../requests/requests.ts";
import type { Services } from "../services.ts";
import type { ContractChanges, OperationToken, RoleList } from "../transactions/store/payloads.ts";
import type { ContractPayload, ProductRequest } from "./find-product.ts";

/** An existing product contract of an account, with its settings after the last update that the service sent. */
export interface ListedProduct {
  chain: Chain;
  address: Address;
  /** Of its deployment. */
  transactionHash: Hash | null;
  /** Time of the request in Unix microseconds. */
  createdMicros: bigint;
  settings: ContractPayload;
  /** The service has renounced its rights on the contract. */
  exited: boolean;
}

/** The plan limits the contracts of an account; the list is bounded all the same. */
const mostListed = 1_000;

/** The existing product contracts of the caller's account, newest first. */
export async function listProducts(services: Services, caller: Caller): Promise<ListedProduct[]> {
  const rows = await newestRequests(services, caller, ["contract"])
    .select(
      sql<ContractChanges[] | null>`(SELECT jsonb_agg(u.payload -> 'changes' ORDER BY u.seq) FROM service.intent u
        WHERE u.kind = 'contract_update' AND u.chain_id = i.chain_id AND u.predicted_addr = i.predicted_addr
          AND u.state IN ('confirmed', 'finalized'))`.as("changes"),
    )
    .where("i.state", "in", ["confirmed", "finalized"])
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
  /** Each token of a mint, in the order of its batch. */
  nfts: { mint: ProductRequest; token: OperationToken }[];
  /** Over all pages. */
  total: number;
}

/** Reading a page by number means counting through the tokens before it: at most this many. */
const mostSkipped = 10_000;
const unsigned = ["queued", "held", "assigned", "cancelled", "expired", "failed_onchain"] as const;

/**
 * One page of the tokens that the caller's mints made or are making, newest first, by number, as old clients ask.
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

interface MintedFacts {
  contractName: string | null;
  /** Tokens of the id that were burned or transferred by requests to the service. */
  count: bigint;
  /** A request froze its URI. */
  frozen: boolean;
}

/**
 * The effects of later requests on minted tokens, and the names of their contracts; in one statement.
 *
 * @returns a lookup by mint and token id.
 */
export async function readMintedFacts(
  services: Services,
  nfts: MintPage["nfts"],
): Promise<(mint: ProductRequest, tokenId: string) => MintedFacts> {
  const places = nfts.map(({ mint: { chain, contract } }) => ({ chain_id: chain.id, contract: toBytes(contract) }));
  const { rows } = await sql<{
    chain_id: number;
    contract: Buffer;
    name: string | null;
    token_id: string | null;
    moved: string;
    frozen: boolean;
  }>`
    WITH places AS (
      SELECT DISTINCT p.chain_id, p.contract
      FROM unnest(${places.map(({ chain_id }) => chain_id)}::int[], ${places.map(({ contract }) => contract)}::bytea[])
        AS p (chain_id, contract))
    SELECT p.chain_id, p.contract,
      (SELECT c.payload ->> 'name' FROM service.intent c WHERE c.chain_id = p.chain_id
        AND c.predicted_addr = p.contract AND c.kind = 'contract' ORDER BY c.retry_number DESC LIMIT 1) AS name,
      t.token ->> 'tokenId' AS token_id,
      coalesce(sum((t.token ->> 'quantity')::numeric) FILTER (WHERE t.kind <> 'token_update'), 0)::text AS moved,
      coalesce(bool_or((t.token ->> 'freeze')::boolean), false) AS frozen
    FROM places p LEFT JOIN LATERAL (
      SELECT i.kind, jsonb_array_elements(i.payload -> 'tokens') AS token FROM service.intent i
      WHERE i.chain_id = p.chain_id AND i.predicted_addr = p.contract AND i.kind IN ('burn', 'transfer', 'token_update')
        AND i.state IN ('confirmed', 'finalized')) t ON t.token ->> 'tokenId' = ANY (${nfts.map(({ token }) => token.tokenId)}::text[])
    GROUP BY p.chain_id, p.contract, t.token ->> 'tokenId'`.execute(services.db);
  const found = new Map(rows.map((row) => [`${row.chain_id} ${row.contract.toString("hex")} ${row.token_id}`, row]));
  const names = new Map(rows.map((row) => [`${row.chain_id} ${row.contract.toString("hex")}`, row.name]));
  // The contract of easy mints belongs to no account, so no request has its name.
  const unnamed = new Map(
    nfts.map(({ mint }) => [placeOf(mint), mint] as const).filter(([place]) => !names.get(place)),
  );
  await Promise.all([...unnamed].map(async ([place, mint]) => names.set(place, await readName(services, mint))));
  return (mint, tokenId) => {
    const row = found.get(`${placeOf(mint)} ${tokenId}`);
    return {
      contractName: names.get(placeOf(mint)) ?? null,
      count: BigInt(row?.moved ?? 0),
      frozen: row?.frozen ?? false,
    };
  };
}

function placeOf({ chain, contract }: ProductRequest): string {
  return `${chain.id} ${contract.slice(2)}`;
}

/** Cached by chain and contract: a name never changes. */
const namesRead = new LRUCache<string, string>(entryBound(1_000));
const abi = parseAbi(["function name() view returns (string)"]);

/** @returns null while the node does not answer. */
async function readName(services: Services, mint: ProductRequest): Promise<string | null> {
  const place = placeOf(mint);
  const known = namesRead.get(place);
  if (known !== undefined) return known;
  const question = { address: mint.contract, abi, functionName: "name" } as const;
  const name = await services
    .rpc(mint.chain)
    .readContract(question)
    .catch(() => null);
  if (name !== null) namesRead.set(place, name);
  return name;
}
