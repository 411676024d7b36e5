import { sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import type { NftViews } from "../db/tables/nft.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { contractColumns, listedContractColumns } from "./columns.ts";
import { type ContractRecord, toContractRecord } from "./nft-record.ts";
import { maxPageSize } from "./page.ts";
import { withheldContracts } from "./withheld-token.ts";

type ContractSource = Pick<NftViews["nft.contracts"], "chain_id" | "address" | "standard">;

export interface ContractKey {
  chain: string;
  /** Any letter case. */
  address: string;
}

/**
 * Contracts with NFTs: one result for each key, in the keys' order; null for one the index has never seen. A contract all of
 * whose tokens are withheld has no record in the index, and only its address here.
 *
 * @param texts `whole` for the details of a contract, `listed` where many are shown.
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
  const read = async (places: readonly number[], contracts: string) =>
    await services.index.db
      .selectFrom(
        sql<{ chain_id: number; address: Buffer; place: number }>`(SELECT * FROM unnest(
        ${places.map((place) => chainIds[place])}::integer[], ${places.map((place) => toBytes(keys[place]?.address ?? ""))}::bytea[],
        ${places}::integer[]) AS given (chain_id, address, place))`.as("k"),
      )
      .innerJoin(sql<ContractSource>`${sql.raw(contracts)}`.as("c"), (join) =>
        join.onRef("c.chain_id", "=", "k.chain_id").onRef("c.address", "=", "k.address"),
      )
      .leftJoin("service.contract_metadata as cm", (join) =>
        join.onRef("cm.chain_id", "=", "k.chain_id").onRef("cm.address", "=", "k.address"),
      )
      .select(["k.place", ...(texts === "whole" ? contractColumns : listedContractColumns)])
      .execute();
  const rows = await read([...keys.keys()], "nft.contracts");
  const listed = new Set(rows.map(({ place }) => place));
  const missing = [...keys.keys()].filter((place) => !listed.has(place));
  if (missing.length > 0) rows.push(...(await read(missing, withheldContracts)));
  const found = new Map(rows.map((row) => [row.place, row]));
  return keys.map(({ chain, address }, index) => {
    const row = found.get(index);
    // A contract beside a token of a list was not asked for.
    if (row && texts === "whole") services.demand.contract(chainIds[index] ?? 0, address);
    return row ? toContractRecord(chain, row) : null;
  });
}
