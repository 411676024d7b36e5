import { sql } from "kysely";
import { toBytes } from "../db/bytes.ts";
import type { TokensPayload } from "../relay/store/operation-payload.ts";
import type { Services } from "../services.ts";
import type { ProductRequest } from "./get-request.ts";

export interface MintedFacts {
  contractName: string | null;
  /** Tokens of the id that were burned or transferred by requests of the service. */
  count: bigint;
  /** A request froze its URI. */
  frozen: boolean;
}

/**
 * What became of minted tokens by later requests, and what their contracts are called; in one statement.
 *
 * @returns a look-up by mint and token id.
 */
export async function countMoved(
  services: Services,
  mints: readonly ProductRequest[],
): Promise<(mint: ProductRequest, tokenId: string) => MintedFacts> {
  const places = mints.map(({ chain, contract }) => ({ chain_id: chain.id, contract: toBytes(contract) }));
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
        AND i.state IN ('confirmed', 'finalized')) t ON t.token ->> 'tokenId' = ANY (${mints.flatMap(({ payload }) =>
          (payload as TokensPayload).tokens.map(({ tokenId }) => tokenId),
        )}::text[])
    GROUP BY p.chain_id, p.contract, t.token ->> 'tokenId'`.execute(services.db);
  const found = new Map(rows.map((row) => [`${row.chain_id} ${row.contract.toString("hex")} ${row.token_id}`, row]));
  const names = new Map(rows.map((row) => [`${row.chain_id} ${row.contract.toString("hex")}`, row.name]));
  return ({ chain, contract }, tokenId) => {
    const place = `${chain.id} ${contract.slice(2)}`;
    const row = found.get(`${place} ${tokenId}`);
    return {
      contractName: names.get(place) ?? null,
      count: BigInt(row?.moved ?? 0),
      frozen: row?.frozen ?? false,
    };
  };
}
