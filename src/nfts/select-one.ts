import { toBytes } from "../db/bytes.ts";
import { cachedStatement } from "../db/pool/cached-statement.ts";
import type { Standard } from "../db/tables/nft.ts";
import { withheldContracts, withheldToken } from "../db/withheld-token.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { type Layout, layoutOf } from "./item.ts";
import { ContractBytes, ItemBytes } from "./item-bytes.ts";
import { itemSql, recordSql, sourcesOf, tokenSources } from "./item-sql.ts";
import { unknownContract } from "./not-indexed.ts";
import { type RenderedRead, readRow, readRows } from "./read-rendered.ts";
import type { Stale } from "./rendered.ts";
import { type PageNeeds, shownBy } from "./select-page.ts";

/** One token with the texts that lists leave out. Its memory is valid until `release`. */
export interface SelectedNft {
  /** The one item. */
  items: ItemBytes;
  layout: Layout;
  /** The single contract; without its record if contracts were not requested. */
  contracts: ContractBytes;
  release: () => void;
}

interface NftKey {
  chainId: number;
  contract: string;
  tokenId: bigint;
}

const column = { item: 0, standard: 1, record: 2 };
const columns = Object.keys(column);

/**
 * One token, also if burned or withheld.
 *
 * @param run `pipelined`: over a pipelined connection.
 * @throws ServiceError `not_found` for a contract or token the index has never seen.
 */
export async function selectNft(
  services: Services,
  key: NftKey,
  needs: PageNeeds,
  run: "pipelined" | "pool",
): Promise<SelectedNft> {
  const values = [toBytes(key.contract), String(key.tokenId)];
  const select = async (from: keyof typeof tokenRows) => {
    const read: RenderedRead = { text: (stale) => textOf(from, key.chainId, needs, stale), values };
    return run === "pipelined" ? await readRow(services, read) : ((await readRows(services, read, columns))[0] ?? null);
  };
  const listed = await select("listed");
  const row = listed?.has(column.item) ? listed : await select("withheld");
  const item = row?.bytes(column.item);
  if (!row || !item)
    throw listed ? new ServiceError("not_found", "this contract has no such token") : unknownContract();
  const layout = layoutOf(needs, 0);
  return {
    items: new ItemBytes(item, layout.parts, 1),
    layout,
    contracts: ContractBytes.one(row.text(column.standard) as Standard, row.bytes(column.record)),
    release: () => row.release(),
  };
}

const tokenRows = {
  listed: (chainId: number) =>
    `(SELECT address, standard FROM nft.contracts WHERE chain_id = ${chainId} AND address = $1) c
    LEFT JOIN nft.tokens t ON t.chain_id = ${chainId} AND t.contract = $1 AND t.token_id = $2::numeric`,
  withheld: (chainId: number) =>
    `${withheldToken({ chainId: String(chainId), contract: "$1", tokenId: "$2::numeric" })} t
    CROSS JOIN LATERAL (SELECT t.contract AS address, t.standard AS standard) c`,
};

function textOf(from: keyof typeof tokenRows, chainId: number, needs: PageNeeds, stale: Stale): string {
  return cachedStatement(
    `detail|${from}|${chainId}|${shownBy(needs)}|${stale}`,
    [],
    () => `SELECT CASE WHEN t.token_id IS NOT NULL THEN ${itemSql(needs, sourcesOf(tokenSources("t")), true, stale)} END AS item,
      c.standard AS standard, /*item*/${needs.contract ? `CASE WHEN cm.address IS NOT NULL THEN ${recordSql(true, stale)} END` : "NULL"}/*end*/ AS record
    FROM ${tokenRows[from](chainId)}
    LEFT JOIN service.contract_metadata cm ON cm.chain_id = ${chainId} AND cm.address = $1
    LEFT JOIN service.token_metadata m ON m.chain_id = ${chainId} AND m.contract = $1 AND m.token_id = $2::numeric`,
  );
}

/** One contract, with the texts that lists leave out; null for one the index has never seen. */
export async function selectContract(
  services: Services,
  chainId: number,
  address: string,
): Promise<ContractBytes | null> {
  const read = async (what: string, contracts: string) => {
    const write = () => `SELECT c.standard AS standard,
        /*item*/CASE WHEN cm.address IS NOT NULL THEN ${recordSql(true, "render")} END/*end*/ AS record
      FROM ${contracts} c
      LEFT JOIN service.contract_metadata cm ON cm.chain_id = ${chainId} AND cm.address = c.address
      WHERE c.chain_id = ${chainId} AND c.address = $1`;
    return await services.reads.first(cachedStatement(`${what}|${chainId}`, [], write), [toBytes(address)]);
  };
  const row = (await read("record", "nft.contracts")) ?? (await read("withheld record", withheldContracts));
  return row && ContractBytes.one(row.text(0) as Standard, row.bytes(1));
}
