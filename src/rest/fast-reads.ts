import { LRUCache } from "lru-cache";
import type { Caller } from "../auth/caller.ts";
import type { JsonText } from "../json/json-text.ts";
import { accountPage, chainPage, contractPage, nftDetails } from "../nfts/json-lists.ts";
import type { Services } from "../services.ts";
import { RawJson, rawList } from "./answer.ts";
import { Input } from "./input.ts";
import {
  addressParameter,
  chainParameter,
  includeParameter,
  pageParameters,
  tokenIdParameter,
  wordsParameter,
} from "./query.ts";
import { accountItemShape, contractMembers, detailsShape, listItemShape } from "./token-shape.ts";

/*
 * The most frequent reads: parsed, read and serialized without the layers around them. The fast path
 * (src/server/fast-path.ts) and the routes run the same functions.
 */

/** A read with checked parameters; returns the body's members. */
export type ReadRun = (services: Services, caller: Caller) => Promise<Record<string, unknown>>;

const standards = { erc721: "ERC721", erc1155: "ERC1155" } as const;

/** Checks the path's values; their faults keep their order among the query's. */
type PathCheck = (input: Input) => void;
const checked: PathCheck = () => undefined;

/** The reads of one query, for any account, contract or token. */
type ReadOf<P extends readonly unknown[]> = (...key: P) => ReadRun;

function accountReads(services: Services, query: URLSearchParams, checkPath: PathCheck): ReadOf<[account: string]> {
  const input = Input.fromQuery(query);
  const chain = chainParameter(input, services.chains);
  checkPath(input);
  const contract = input.address("contract_address");
  const include = includeParameter(input, ["metadata", "contract_information"]);
  const exclude = wordsParameter(input, "exclude", ["erc721", "erc1155"]);
  const page = pageParameters(input);
  input.check();
  const shape = accountItemShape({
    metadata: include.has("metadata"),
    contract: include.has("contract_information"),
  });
  const request = {
    ...{ chain, contract, page, shape },
    exclude: [...exclude].map((word) => standards[word]),
  };
  return (account) => async (services, caller) => {
    const found = await accountPage(services, caller, { ...request, account });
    return { nfts: rawList(found.items), total: Number(found.total), continuation: found.continuation() };
  };
}

function chainReads(services: Services, query: URLSearchParams): ReadOf<[]> {
  const input = Input.fromQuery(query);
  const chain = chainParameter(input, services.chains);
  const include = includeParameter(input, ["metadata", "file_information", "contract_information", "all"]);
  const page = pageParameters(input);
  input.check();
  const shape = listItemShape(shown(include, include.has("all") || include.has("contract_information")));
  return () => async (services, caller) => {
    const found = await chainPage(services, caller, { chain, page, shape });
    return { nfts: rawList(found.items), continuation: found.continuation() };
  };
}

function contractReads(services: Services, query: URLSearchParams, checkPath: PathCheck): ReadOf<[contract: string]> {
  const input = Input.fromQuery(query);
  const chain = chainParameter(input, services.chains);
  checkPath(input);
  const include = includeParameter(input, ["metadata", "file_information", "all"]);
  // Only checked here; the route does the refresh.
  input.boolean("refresh_metadata");
  const page = pageParameters(input);
  input.check();
  const request = { chain, page, contractMembers, shape: listItemShape(shown(include, false)) };
  return (contract) => async (services, caller) => {
    const found = await contractPage(services, caller, { ...request, contract });
    return {
      nfts: rawList(found.items),
      contract: rawOrNull(found.contract),
      total: Number(found.total),
      continuation: found.continuation(),
    };
  };
}

function tokenReads(
  services: Services,
  query: URLSearchParams,
  checkPath: PathCheck,
): ReadOf<[contract: string, tokenId: bigint]> {
  const input = Input.fromQuery(query);
  const chain = chainParameter(input, services.chains);
  checkPath(input);
  includeParameter(input, ["metadata", "file_information", "contract_information", "all", "rarity"]);
  input.boolean("refresh_metadata");
  input.check();
  const request = { chain, shape: detailsShape, contractMembers };
  return (contract, tokenId) => async (services, caller) => {
    const found = await nftDetails(services, caller, { ...request, contract, tokenId });
    return { nft: new RawJson(found.nft), owner: found.owner, contract: rawOrNull(found.contract) };
  };
}

export function accountRead(services: Services, query: URLSearchParams, account: string): ReadRun {
  return accountReads(services, query, (input) => addressParameter(input, "account_address", account))(account);
}

export function chainRead(services: Services, query: URLSearchParams): ReadRun {
  return chainReads(services, query)();
}

export function contractRead(services: Services, query: URLSearchParams, contract: string): ReadRun {
  return contractReads(services, query, (input) => addressParameter(input, "contract_address", contract))(contract);
}

export function tokenRead(services: Services, query: URLSearchParams, contract: string, tokenText: string): ReadRun {
  let tokenId = 0n;
  const reads = tokenReads(services, query, (input) => {
    addressParameter(input, "contract_address", contract);
    tokenId = tokenIdParameter(input, tokenText);
  });
  return reads(contract, tokenId);
}

export interface FastRead {
  /** First value of `chain`, by which the headers select the freshness. */
  chain: string | null;
  run: ReadRun;
}

const plainUrl = /^\/v0\/(?:nfts|accounts)(?:\/(0x[0-9a-fA-F]{40})(?:\/(\d{1,78}))?)?(?:\?([\w.~%+&=,*:-]*))?$/;

/** Parsed queries by their text: few distinct queries are sent, for ever-changing accounts and contracts. */
const maxQueries = 1_000;
const queries = new WeakMap<Services, LRUCache<string, ParsedQuery | typeof unusual>>();
const unusual = "unusual";

interface ParsedQuery {
  chain: string | null;
  read: ReadOf<[address: string, tokenId: bigint]>;
}

/** Parses the URL of a GET that is one of the reads above, plain and without faults; otherwise null. */
export function fastReadOf(services: Services, url: string): FastRead | null {
  const match = plainUrl.exec(url);
  if (!match) return null;
  const [, address = "", tokenText = "", text = ""] = match;
  const kind = url.startsWith("/v0/accounts") ? "account" : tokenText ? "token" : address ? "contract" : "chain";
  const tokenId = BigInt(tokenText);
  if (kind === "account" ? address === "" || tokenText !== "" : tokenId >= 2n ** 256n) return null;
  const query = queryOf(services, kind, text);
  return query && { chain: query.chain, run: query.read(address, tokenId) };
}

function queryOf(services: Services, kind: keyof typeof makers, text: string): ParsedQuery | null {
  const parsed = queries.get(services) ?? new LRUCache<string, ParsedQuery | typeof unusual>({ max: maxQueries });
  queries.set(services, parsed);
  const key = `${kind} ${text}`;
  const found = parsed.get(key);
  if (found !== undefined) return found === unusual ? null : found;
  const made = parseQuery(services, kind, new URLSearchParams(text));
  parsed.set(key, made ?? unusual);
  return made;
}

const makers = { account: accountReads, chain: chainReads, contract: contractReads, token: tokenReads };

function parseQuery(services: Services, kind: keyof typeof makers, query: URLSearchParams): ParsedQuery | null {
  if (query.has("refresh_metadata")) return null;
  try {
    return { chain: query.get("chain"), read: makers[kind](services, query, checked) };
  } catch {
    // The route finds the same faults and reports them.
    return null;
  }
}

function shown(include: ReadonlySet<string>, contract: boolean) {
  const all = include.has("all");
  const metadata = all || include.has("metadata");
  return { metadata, fileInformation: all || include.has("file_information"), contract, dates: all };
}

function rawOrNull(text: JsonText | null): RawJson | null {
  return text === null ? null : new RawJson(text);
}
