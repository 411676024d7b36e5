import type { Caller } from "../auth/caller.ts";
import { planOf } from "../auth/plans.ts";
import { toBytes, uintToBytes } from "../db/bytes.ts";
import { wireValue } from "../db/pipeline/wire.ts";
import type { Standard } from "../db/tables/nft.ts";
import { type ItemSources, recordSql, type Sources, sourcesOf, tokenSources } from "./item-sql.ts";
import { contractRendering, joined } from "./rendered.ts";
import { keyContract, type ListKey, type ListSql, type PageList } from "./select-page.ts";
import { type TraitFilter, traitCondition } from "./traits.ts";

/* The token lists: by account, by contract, and the newest of a chain or of a creator. */

const noRecord = "NULL::text AS standard, NULL::text AS record, NULL::text AS whole";
/** The columns that a page shows of a token, and those that its holders are looked up by. */
const shown = ", k.chain_id, k.standard, k.owner, k.supply, k.creator, k.mint_timestamp";
const ways = { forward: { order: "", than: ">" }, backward: { order: " DESC", than: "<" } } as const;

/** Identifies a list: the name that its cursors belong to, and its key. */
export interface NamedKey {
  name: string;
  key: ListKey;
}

/** @param account any letter case, as for all addresses here. */
export function accountKey(chainId: number, account: string, contract?: string): NamedKey {
  const key = { account: toBytes(account), ...(contract === undefined ? {} : { contract: toBytes(contract) }) };
  return { name: `account-nfts:${chainId}:${account.toLowerCase()}`, key };
}

export function contractKey(chainId: number, contract: string): NamedKey {
  return { name: `contract-nfts:${chainId}:${contract.toLowerCase()}`, key: { contract: toBytes(contract) } };
}

/** @param creator absent: the whole chain. */
export function newestKey(chainId: number, creator?: string): NamedKey {
  const key: ListKey = creator === undefined ? {} : { creator: toBytes(creator) };
  return { name: `chain-nfts:${chainId}:${creator?.toLowerCase() ?? ""}`, key };
}

/** Tokens that an account owns, by contract and token id. The key is `account`, for one contract also `contract`. */
export function accountList(
  chainId: number,
  { exclude, contract }: { exclude: readonly Standard[]; contract: boolean },
): PageList {
  const standards = (["ERC721", "ERC1155"] as const).filter((standard) => !exclude.includes(standard));
  const sql: PageList["sql"] = (refs, direction) => {
    const { order, than } = ways[direction];
    const one = standards.length < 2 ? ` AND k.standard ${standards[0] ? `= '${standards[0]}'` : "= NULL"}` : "";
    const ofContract = contract ? ` AND k.contract = ${refs["contract"]}` : "";
    const held = `FROM nft.holding_rows k WHERE k.chain_id = ${chainId} AND k.owner = ${refs["account"]} AND k.amount > 0${ofContract}${one}`;
    const list = standards.map((standard) => `'${standard}'`).join(", ") || "NULL";
    return {
      after: (first) => `(k.contract, k.token_id) ${than} ($${first}, $${first + 1}::numeric)`,
      keys: `SELECT k.contract, k.token_id, k.owner, k.amount, k.standard, k.creator, k.mint_timestamp ${held}`,
      order: `k.contract${order}, k.token_id${order}`,
      join: "",
      sources: heldSources(chainId, refs["account"] ?? ""),
      frame: contract
        ? `SELECT count(*) AS total, ${noRecord} ${held}`
        : `SELECT coalesce(sum(a.holding_count), 0)::bigint AS total, ${noRecord} FROM nft.account_totals a
           WHERE a.chain_id = ${chainId} AND a.owner = ${refs["account"]} AND a.standard IN (${list})`,
    };
  };
  return {
    ...{ chainId, sql, position: [20, 32], positionParts: 0, variant: `account|${chainId}|${standards}|${contract}` },
    place: (part) => [`0x${part(0)}`, part(1)],
    values: ([address = 0n, tokenId = 0n]) => [uintToBytes(address, 20), String(tokenId)],
  };
}

/** For ERC-721 the row and the account's address have everything; for ERC-1155 the token is looked up. */
function heldSources(chainId: number, account: string): ItemSources {
  const [held, row, token] = ["'1'", tokenSources("k"), tokenSources("t")];
  const ofHolder: Partial<Sources> = {
    standard: "'ERC721'",
    owner: `encode(${account}, 'hex')`,
    supply: held,
    amount: held,
  };
  const single: Sources = { ...row, ...ofHolder, holders: "encode(k.owner, 'hex')" };
  const multi: Sources = { ...token, standard: "'ERC1155'", owner: "''", amount: "k.amount::text" };
  return {
    key: [row.contractAddress, row.tokenId],
    live(names) {
      // These come first and are the same in all rows, so PostgreSQL computes them once for the page.
      const same = names.filter((name) => name in ofHolder);
      const others = names.slice(same.length).map((name) => single[name]);
      const once = `(SELECT ${joined([single.standard, ...same.map((name) => single[name])])})`;
      return `CASE k.standard WHEN 'ERC721' THEN ${joined([once, ...others])}
        ELSE (SELECT ${joined([multi.standard, ...names.map((name) => multi[name])])} FROM nft.tokens t
          WHERE t.chain_id = ${chainId} AND t.contract = k.contract AND t.token_id = k.token_id) END`;
    },
  };
}

/** A contract's live tokens, by token id; the key is `contract`. */
export function contractList(chainId: number, traits?: TraitFilter): PageList {
  const condition = traits && traitCondition(chainId, keyContract, traits);
  const sql: PageList["sql"] = (refs, direction, keysOnly, stale): ListSql => {
    const { order, than } = ways[direction];
    const from = `FROM nft.tokens k WHERE k.chain_id = ${chainId} AND k.contract = ${refs["contract"]} AND k.supply > 0`;
    return {
      after: (first) => `k.token_id ${than} $${first}::numeric`,
      keys: `SELECT k.contract, k.token_id${keysOnly ? "" : shown} ${from}`,
      order: `k.token_id${order}`,
      ...tokenOf(chainId, keysOnly),
      frame: `SELECT ${traits ? "NULL::bigint" : "c.token_count"} AS total, c.standard,
          CASE WHEN cm.address IS NOT NULL THEN ${recordSql(false, stale)} END AS record,
          CASE WHEN cm.address IS NOT NULL AND cm.rendered_as IS DISTINCT FROM '${contractRendering.hash}' THEN ${recordSql(true, "render")} END AS whole
        FROM nft.contracts c
        LEFT JOIN service.contract_metadata cm ON cm.chain_id = ${chainId} AND cm.address = c.address
        WHERE c.chain_id = ${chainId} AND c.address = ${refs["contract"]}`,
    };
  };
  return {
    ...{ chainId, sql, position: [32], positionParts: 0, ofContract: true, heavy: traits !== undefined },
    variant: `contract|${chainId}|${traits !== undefined}`,
    place: (part) => [part(1)],
    values: ([tokenId = 0n]) => [String(tokenId)],
    ...(condition
      ? {
          filter: {
            texts: condition.texts,
            values: condition.values.map((value) => (value === keyContract ? keyContract : wireValue(value))),
          },
        }
      : {}),
  };
}

const newestPosition = ["k.mint_block::text", "k.mint_log_index::text", "k.mint_batch_index::text"];

/**
 * A chain's live tokens, newest mint first, within the caller's window; or those of a creator, with the key `creator`.
 * Tokens minted before the first indexed block have no position in this order and are left out.
 */
export function newestList(chainId: number, caller: Caller, creator: boolean): PageList {
  const windowDays = creator ? null : planOf(caller).windowDays;
  const since = BigInt(Math.floor(Date.now() / 1000) - (windowDays ?? 0) * 86_400);
  const sql: PageList["sql"] = (refs, direction, keysOnly): ListSql => {
    // Newest first, so forward is descending.
    const [order, than] = direction === "forward" ? [" DESC", "<"] : ["", ">"];
    const from = `FROM nft.tokens k WHERE k.chain_id = ${chainId} AND k.mint_block IS NOT NULL AND k.supply > 0
      ${creator ? `AND k.creator = ${refs["creator"]}` : ""}`;
    return {
      after: (first) =>
        `(k.mint_block, k.mint_log_index, k.mint_batch_index) ${than} ($${first}::bigint, $${first + 1}::integer, $${first + 2}::integer)`,
      keys: `SELECT k.contract, k.token_id, k.mint_block, k.mint_log_index, k.mint_batch_index${keysOnly ? "" : shown} ${from}`,
      order: `k.mint_block${order}, k.mint_log_index${order}, k.mint_batch_index${order}`,
      ...tokenOf(chainId, keysOnly, newestPosition),
      frame: `SELECT NULL::bigint AS total, ${noRecord}`,
    };
  };
  return {
    ...{ chainId, sql, position: [8, 4, 4], variant: `chain|${chainId}|${creator}|${windowDays === null}` },
    positionParts: newestPosition.length,
    place: (part, { position }) => position.map(part),
    values: (parts) => parts.map(String),
    // The window becomes a block number, so that one index gives both order and bound. Filtering by time instead would
    // scan every older token to find the end of a short page.
    ...(windowDays === null
      ? {}
      : {
          filter: {
            texts: [
              `k.mint_block >= (SELECT w.mint_block FROM nft.tokens w WHERE w.chain_id = ${chainId} AND w.mint_timestamp >= `,
              "::bigint ORDER BY w.mint_timestamp, w.mint_block LIMIT 1)",
            ],
            values: [String(since)],
          },
        }),
  };
}

/** If rows may be skipped, the scan reads keys alone, and only the page's tokens are joined. */
function tokenOf(
  chainId: number,
  keysOnly: boolean,
  position: readonly string[] = [],
): Pick<ListSql, "join" | "sources"> {
  if (!keysOnly) return { join: "", sources: { ...sourcesOf(tokenSources("k")), position } };
  const join = `JOIN nft.tokens t ON t.chain_id = ${chainId} AND t.contract = k.contract AND t.token_id = k.token_id`;
  return { join, sources: { ...sourcesOf(tokenSources("t")), position } };
}
