import { toBytes } from "../db/bytes.ts";
import { cachedStatement } from "../db/pool/cached-statement.ts";
import type { RawRow } from "../db/pool/raw-row.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { type Item, type Layout, layoutOf, type RecordParts, recordOf } from "./item.ts";
import { itemSql, liveNames, recordSql, sourcesOf, tokenSources } from "./item-sql.ts";
import { readRendered } from "./read-rendered.ts";
import { partMark, type Stale } from "./rendered.ts";
import { runRead } from "./run-read.ts";
import type { PageNeeds } from "./select-page.ts";
import { withheldContracts, withheldToken } from "./withheld-token.ts";

export interface SelectedNft {
  item: Item;
  layout: Layout;
  /** With the texts that lists leave out, like the item; its address and standard alone where it was not asked for. */
  record: RecordParts;
}

const column = { item: 0, standard: 1, record: 2 };
const columns = Object.keys(column);

/**
 * One token, also a burned or a withheld one.
 *
 * @throws ServiceError `not_found` for a contract or token the index has never seen.
 */
export async function selectNft(
  services: Services,
  input: { chainId: number; contract: string; tokenId: bigint },
  needs: PageNeeds,
  run: "pipelined" | "pool",
): Promise<SelectedNft> {
  const { chainId } = input;
  const write = (sources: string, stale: Stale) => {
    return `SELECT CASE WHEN t.token_id IS NOT NULL THEN ${itemSql(needs, sourcesOf(tokenSources("t")), true, stale)} END AS item,
      c.standard AS standard, /*item*/${needs.contract ? `CASE WHEN cm.address IS NOT NULL THEN ${recordSql(true, stale)} END` : "NULL"}/*end*/ AS record
    FROM ${sources}
    LEFT JOIN service.contract_metadata cm ON cm.chain_id = ${chainId} AND cm.address = $1
    LEFT JOIN service.token_metadata m ON m.chain_id = ${chainId} AND m.contract = $1 AND m.token_id = $2::numeric`;
  };
  const read = async (from: "listed" | "withheld", sources: () => string) => {
    const wanted = [...liveNames.filter((name) => needs.live.has(name)), needs.document, needs.stored, needs.contract];
    const parameters = [toBytes(input.contract), String(input.tokenId)];
    const [row = null] = await readRendered((stale) => {
      const text = cachedStatement(`detail|${from}|${chainId}|${wanted}|${stale}`, [], () => write(sources(), stale));
      return runRead(services, text, parameters, run, columns);
    });
    return row;
  };
  const listed = await read(
    "listed",
    () => `(SELECT address, standard FROM nft.contracts WHERE chain_id = ${chainId} AND address = $1) c
    LEFT JOIN nft.tokens t ON t.chain_id = ${chainId} AND t.contract = $1 AND t.token_id = $2::numeric`,
  );
  const row = listed?.has(column.item)
    ? listed
    : await read(
        "withheld",
        () => `${withheldToken({ chainId: String(chainId), contract: "$1", tokenId: "$2::numeric" })} t
    CROSS JOIN LATERAL (SELECT t.contract AS address, t.standard AS standard) c`,
      );
  const textOf = (from: RawRow, at: number) => (run === "pipelined" ? from.latin1(at) : from.text(at));
  const item = row && textOf(row, column.item);
  if (!row || item === null) {
    const what = listed
      ? "this contract has no such token"
      : "no contract with NFTs is known at this address on this chain";
    throw new ServiceError("not_found", what);
  }
  const address = input.contract.slice(2).toLowerCase();
  return {
    item: item.split(partMark),
    layout: layoutOf(needs, 0),
    record: recordOf(address, row.text(column.standard) ?? "", textOf(row, column.record)),
  };
}

/** One contract's record as bytes, with the texts that lists leave out; null for one the index has never seen. */
export async function selectContract(
  services: Services,
  chainId: number,
  address: string,
): Promise<RecordParts | null> {
  const read = async (what: string, contracts: string) => {
    const write = () => `SELECT c.standard AS standard,
        /*item*/CASE WHEN cm.address IS NOT NULL THEN ${recordSql(true, "render")} END/*end*/ AS record
      FROM ${contracts} c
      LEFT JOIN service.contract_metadata cm ON cm.chain_id = ${chainId} AND cm.address = c.address
      WHERE c.chain_id = ${chainId} AND c.address = $1`;
    return await services.reads.first(cachedStatement(`${what}|${chainId}`, [], write), [toBytes(address)]);
  };
  const row = (await read("record", "nft.contracts")) ?? (await read("withheld record", withheldContracts));
  return row && recordOf(address.slice(2).toLowerCase(), row.text(0) ?? "", row.latin1(1));
}
