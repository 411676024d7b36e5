import type { Caller } from "../auth/caller.ts";
import { planOf } from "../auth/plans.ts";
import { findChain } from "../chains.ts";
import { toBytes, uintToBytes } from "../db/bytes.ts";
import { wireValue } from "../db/pipeline/wire.ts";
import { cachedStatement } from "../db/pool/cached-statement.ts";
import type { Standard } from "../db/tables/nft.ts";
import { ServiceError } from "../errors/errors.ts";
import type { JsonText } from "../json/json-text.ts";
import type { Services } from "../services.ts";
import { type JsonPage, type JsonPageRequest, readJsonPage } from "./json-page.ts";
import { type ContractField, contractJson, type JsonMember, type NftShape, tokenJson } from "./nft-json.ts";
import { cachedBase } from "./nft-record.ts";
import { type TraitFilter, traitCondition } from "./traits.ts";
import { withheldContracts, withheldToken } from "./withheld-token.ts";

/*
 * The lists of list-account-nfts.ts, list-contract-nfts.ts and list-chain-nfts.ts and the token of
 * get-nft.ts with the JSON made by PostgreSQL: the same rows in the same order under the same cursors,
 * which test/graphql/front.test.ts holds. Forwards only.
 */

type Request = Omit<JsonPageRequest, "chainId">;

const tokenPlace = "'0x' || encode(contract, 'hex') || ':' || token_id";

/** See `listAccountNfts`. */
export async function accountPage(
  services: Services,
  _caller: Caller,
  input: Request & { account: string; exclude: readonly Standard[]; contract?: string | undefined },
): Promise<JsonPage> {
  const chainId = findChain(services.chains, input.chain).id;
  const standards = (["ERC721", "ERC1155"] as const).filter((standard) => !input.exclude.includes(standard));
  const sql = () => {
    const one = standards.length < 2 ? ` AND k.standard ${standards[0] ? `= '${standards[0]}'` : "= NULL"}` : "";
    const ofContract = input.contract === undefined ? "" : " AND k.contract = $2";
    const held = `FROM nft.holding_rows k WHERE k.chain_id = ${chainId} AND k.owner = $1 AND k.amount > 0${ofContract}${one}`;
    const list = standards.map((standard) => `'${standard}'`).join(", ") || "NULL";
    return {
      after: (first: number) => `(k.contract, k.token_id) > ($${first}, $${first + 1}::numeric)`,
      keys: `SELECT k.contract, k.token_id, k.amount ${held}`,
      place: tokenPlace,
      order: "k.contract, k.token_id",
      frame: input.contract
        ? `SELECT count(*) AS total ${held}`
        : `SELECT coalesce(sum(a.holding_count), 0)::bigint AS total FROM nft.account_totals a
           WHERE a.chain_id = ${chainId} AND a.owner = $1 AND a.standard IN (${list})`,
    };
  };
  const page = await readJsonPage(
    services,
    {
      name: `account-nfts:${chainId}:${input.account.toLowerCase()}`,
      position: [20, 32],
      values: ([contract = 0n, tokenId = 0n]) => [uintToBytes(contract, 20), String(tokenId)],
      variant: `account|${chainId}|${standards.join()}|${input.contract === undefined}`,
      sql,
      parameters: [toBytes(input.account), ...(input.contract === undefined ? [] : [toBytes(input.contract)])],
    },
    { ...input, chainId },
  );
  if (page?.total) services.demand.account(chainId, input.account);
  return page ?? unknownContract();
}

/** See `listContractNfts`. */
export async function contractPage(
  services: Services,
  _caller: Caller,
  input: Request & { contract: string; traits?: TraitFilter | undefined },
): Promise<JsonPage> {
  const chainId = findChain(services.chains, input.chain).id;
  const contract = toBytes(input.contract);
  const filter = input.traits ? traitCondition(chainId, contract, input.traits) : { texts: [""], values: [] };
  // $1 is the contract.
  const condition = filter.texts.map((text, at) => (at === 0 ? text : `$${at + 1}${text}`)).join("");
  const page = await readJsonPage(
    services,
    {
      name: `contract-nfts:${chainId}:${input.contract.toLowerCase()}`,
      position: [32],
      values: ([tokenId = 0n]) => [String(tokenId)],
      variant: `contract|${chainId}|${condition}`,
      sql: () => ({
        after: (first) => `k.token_id > $${first}::numeric`,
        keys: `SELECT k.contract, k.token_id, NULL AS amount FROM nft.tokens k
        WHERE k.chain_id = ${chainId} AND k.contract = $1 AND k.supply > 0${condition && ` AND ${condition}`}`,
        place: "token_id::text",
        order: "k.token_id",
        frame: `SELECT ${input.traits ? "NULL::bigint" : "c.token_count"} AS total/*record*/ FROM nft.contracts c
        CROSS JOIN LATERAL (SELECT c.address AS contract) k CROSS JOIN LATERAL (SELECT c.standard AS standard) t
        LEFT JOIN service.contract_metadata cm ON cm.chain_id = ${chainId} AND cm.address = c.address
        WHERE c.chain_id = ${chainId} AND c.address = $1`,
      }),
      parameters: [contract, ...filter.values.map(wireValue)],
      heavy: input.traits !== undefined,
    },
    { ...input, chainId },
  );
  if (!page) return unknownContract();
  services.demand.contract(chainId, input.contract);
  return page;
}

/** See `listChainNfts`. */
export async function chainPage(services: Services, caller: Caller, input: Request): Promise<JsonPage> {
  const chainId = findChain(services.chains, input.chain).id;
  const { windowDays } = planOf(caller);
  const since = BigInt(Math.floor(Date.now() / 1000) - (windowDays ?? 0) * 86_400);
  const window =
    windowDays === null
      ? ""
      : ` AND k.mint_block >= (SELECT w.mint_block FROM nft.tokens w WHERE w.chain_id = ${chainId}
          AND w.mint_timestamp >= $1 ORDER BY w.mint_timestamp, w.mint_block LIMIT 1)`;
  const page = await readJsonPage(
    services,
    {
      name: `chain-nfts:${chainId}:`,
      position: [8, 4, 4],
      values: (parts) => parts.map(String),
      variant: `chain|${chainId}|${windowDays === null}`,
      sql: () => ({
        after: (first) =>
          `(k.mint_block, k.mint_log_index, k.mint_batch_index) < ($${first}::bigint, $${first + 1}::integer, $${first + 2}::integer)`,
        keys: `SELECT k.contract, k.token_id, NULL AS amount, k.mint_block, k.mint_log_index, k.mint_batch_index
        FROM nft.tokens k WHERE k.chain_id = ${chainId} AND k.mint_block IS NOT NULL AND k.supply > 0${window}`,
        place: "mint_block || ':' || mint_log_index || ':' || mint_batch_index",
        order: "k.mint_block DESC, k.mint_log_index DESC, k.mint_batch_index DESC",
        frame: "SELECT NULL::bigint AS total",
      }),
      parameters: window === "" ? [] : [String(since)],
    },
    { ...input, chainId },
  );
  services.demand.newest(chainId);
  return page ?? unknownContract();
}

export interface JsonNft {
  nft: JsonText;
  owner: string | null;
  contract: JsonText | null;
}

/** See `getNft`. */
export async function nftDetails(
  services: Services,
  _caller: Caller,
  input: {
    chain: string;
    contract: string;
    tokenId: bigint;
    shape: NftShape;
    contractMembers?: readonly JsonMember<ContractField>[];
  },
): Promise<JsonNft> {
  const chainId = findChain(services.chains, input.chain).id;
  const write = (sources: string) => {
    const facts = { chain: input.chain, cachedBase: cachedBase(services.config), bounded: false };
    const record = input.contractMembers ? contractJson(input.contractMembers, facts) : "NULL";
    return `SELECT CASE WHEN t.token_id IS NOT NULL THEN ${tokenJson(input.shape, facts, false)} END AS nft,
      '0x' || encode(t.owner, 'hex') AS owner, ${record} AS contract
    FROM ${sources}
    CROSS JOIN LATERAL (SELECT c.address AS contract) k
    LEFT JOIN service.contract_metadata cm ON cm.chain_id = ${chainId} AND cm.address = c.address
    LEFT JOIN service.token_metadata m ON m.chain_id = ${chainId} AND m.contract = $1 AND m.token_id = $2::numeric`;
  };
  const read = async (from: "listed" | "withheld", sources: () => string) => {
    const shapes = [services.config, input.shape, input.contractMembers];
    const text = cachedStatement(`detail|${from}|${chainId}|${input.chain}`, shapes, () => write(sources()));
    return await services.reads.first(text, [toBytes(input.contract), String(input.tokenId)]);
  };
  const listed = await read(
    "listed",
    () => `(SELECT address, standard FROM nft.contracts WHERE chain_id = ${chainId} AND address = $1) c
    LEFT JOIN nft.tokens t ON t.chain_id = ${chainId} AND t.contract = $1 AND t.token_id = $2::numeric`,
  );
  const row = listed?.json(0)
    ? listed
    : await read(
        "withheld",
        () => `${withheldToken({ chainId: String(chainId), contract: "$1", tokenId: "$2::numeric" })} t
    CROSS JOIN LATERAL (SELECT t.contract AS address, t.standard AS standard) c`,
      );
  const nft = row?.json(0) ?? null;
  if (!listed && !nft) return unknownContract();
  if (!row || nft === null) throw new ServiceError("not_found", "this contract has no such token");
  services.demand.token(chainId, input.contract, input.tokenId);
  return { nft, owner: row.text(1), contract: row.json(2) };
}

/** See `getContracts`: one contract's record; null for one the index has never seen. */
export async function contractDetails(
  services: Services,
  _caller: Caller,
  input: { chain: string; address: string; members: readonly JsonMember<ContractField>[] },
): Promise<JsonText | null> {
  const chainId = findChain(services.chains, input.chain).id;
  const read = async (what: string, contracts: string) => {
    const write = () => {
      const facts = { chain: input.chain, cachedBase: cachedBase(services.config), bounded: false };
      return `SELECT ${contractJson(input.members, facts)} AS contract FROM ${contracts} c
    CROSS JOIN LATERAL (SELECT c.address AS contract) k CROSS JOIN LATERAL (SELECT c.standard AS standard) t
    LEFT JOIN service.contract_metadata cm ON cm.chain_id = ${chainId} AND cm.address = c.address
    WHERE c.chain_id = ${chainId} AND c.address = $1`;
    };
    const text = cachedStatement(`${what}|${chainId}|${input.chain}`, [services.config, input.members], write);
    return await services.reads.first(text, [toBytes(input.address)]);
  };
  const row = (await read("record", "nft.contracts")) ?? (await read("withheld record", withheldContracts));
  if (row) services.demand.contract(chainId, input.address);
  return row?.json(0) ?? null;
}

function unknownContract(): never {
  throw new ServiceError("not_found", "no contract with NFTs is known at this address on this chain");
}
