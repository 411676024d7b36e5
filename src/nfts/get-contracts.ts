import { sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { withheldContracts } from "../db/withheld-token.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { factsOf } from "./item.ts";
import { type ContractRecord, contractColumns, type NftRow, recordOfRow } from "./nft-record.ts";
import { maxPageSize } from "./page.ts";

export interface ContractKey {
  chain: string;
  /** Any letter case. */
  address: string;
}

/**
 * Contracts with NFTs: one result for each key, in the keys' order; null for one the index has never seen. A contract
 * with only withheld tokens has no record in the index, and only its address here.
 *
 * @param texts `whole` for a contract's details, `listed` for lists.
 * @throws ServiceError `value_error` for more keys than a page has.
 */
export async function getContracts(
  services: Services,
  _caller: Caller,
  keys: readonly ContractKey[],
  texts: "whole" | "listed",
): Promise<(ContractRecord | null)[]> {
  if (keys.length > maxPageSize) {
    throw new ServiceError("value_error", `at most ${maxPageSize} contracts at once`, { field: "keys" });
  }
  const chainIds = keys.map(({ chain }) => findChain(services.chains, chain).id);
  const read = async (places: readonly number[], contracts: string) => {
    const statement = sql<Omit<NftRow, "item"> & { place: number }>`SELECT k.place, ${contractColumns(texts)}
      FROM unnest(${places.map((place) => chainIds[place])}::integer[],
        ${places.map((place) => toBytes(keys[place]?.address ?? ""))}::bytea[], ${places}::integer[])
        AS k (chain_id, address, place)
      JOIN ${sql.raw(contracts)} c ON c.chain_id = k.chain_id AND c.address = k.address
      LEFT JOIN service.contract_metadata cm ON cm.chain_id = k.chain_id AND cm.address = k.address`;
    return (await statement.execute(services.index.db)).rows;
  };
  const rows = await read([...keys.keys()], "nft.contracts");
  const listed = new Set(rows.map(({ place }) => place));
  const missing = [...keys.keys()].filter((place) => !listed.has(place));
  if (missing.length > 0) rows.push(...(await read(missing, withheldContracts)));
  const found = new Map(rows.map((row) => [row.place, row]));
  return keys.map(({ chain, address }, index) => {
    const row = found.get(index);
    // Only a contract that was asked for itself counts as demand, not one shown with a listed token.
    if (row && texts === "whole") services.demand.contract(chainIds[index] ?? 0, address);
    return row ? recordOfRow(factsOf(services.config, chain, false), address, row) : null;
  });
}
