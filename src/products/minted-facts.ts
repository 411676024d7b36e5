import { sql } from "kysely";
import { LRUCache } from "lru-cache";
import { parseAbi } from "viem";
import { entryBound } from "../cache-bounds.ts";
import { toBytes } from "../db/bytes.ts";
import type { Services } from "../services.ts";
import type { OperationToken } from "../transactions/store/payloads.ts";
import type { ProductRequest } from "./find-product.ts";

interface MintedFacts {
  contractName: string | null;
  /** Tokens of the id that were burned or transferred by requests of the service. */
  count: bigint;
  /** A request froze its URI. */
  frozen: boolean;
}

interface MintedToken {
  mint: ProductRequest;
  token: OperationToken;
}

/**
 * What became of minted tokens by later requests, and what their contracts are called; in one statement.
 *
 * @returns a look-up by mint and token id.
 */
export async function readMintedFacts(
  services: Services,
  nfts: readonly MintedToken[],
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
  // The contract of easy mints is no account's, so no request has its name.
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

/** By chain and contract: a name never changes. */
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
