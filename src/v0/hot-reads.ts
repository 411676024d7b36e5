import type { Caller } from "../auth/caller.ts";
import type { JsonText } from "../json-text.ts";
import { accountPage, chainPage, contractPage, nftDetails } from "../nfts/json-lists.ts";
import type { Services } from "../services.ts";
import { Input } from "./input.ts";
import {
  addressParameter,
  chainParameter,
  includeParameter,
  pageParameters,
  tokenIdParameter,
  wordsParameter,
} from "./query.ts";
import { RawJson, rawList } from "./raw-json.ts";
import { accountItemShape, contractMembers, detailsShape, listItemShape } from "./token-shape.ts";

/*
 * The reads that most requests are: parsed, read and written as text without the layers around them, so that
 * the quick way (src/http/quick-reads.ts) and the routes run the same function.
 */

/** One read, its parameters checked; gives the body's members. */
export type HotRead = (services: Services, caller: Caller) => Promise<Record<string, unknown>>;

const standards = { erc721: "ERC721", erc1155: "ERC1155" } as const;

export function accountRead(services: Services, query: URLSearchParams, accountAddress: string): HotRead {
  const input = Input.fromQuery(query);
  const chain = chainParameter(input, services.chains);
  const account = addressParameter(input, "account_address", accountAddress);
  const contract = input.address("contract_address");
  const include = includeParameter(query, input, ["metadata", "contract_information"]);
  const exclude = wordsParameter(query, input, "exclude", ["erc721", "erc1155"]);
  const page = pageParameters(input);
  input.check();
  const shape = accountItemShape({
    metadata: include.has("metadata"),
    contract: include.has("contract_information"),
  });
  const request = {
    ...{ chain, account, contract, page, shape, strictContract: false },
    exclude: [...exclude].map((word) => standards[word]),
  };
  return async (services, caller) => {
    const found = await accountPage(services, caller, request);
    return { nfts: rawList(found.items), total: Number(found.total), continuation: found.continuation() };
  };
}

export function chainRead(services: Services, query: URLSearchParams): HotRead {
  const input = Input.fromQuery(query);
  const chain = chainParameter(input, services.chains);
  const include = includeParameter(query, input, ["metadata", "file_information", "contract_information", "all"]);
  const page = pageParameters(input);
  input.check();
  const shape = listItemShape(shown(include, include.has("all") || include.has("contract_information")));
  return async (services, caller) => {
    const found = await chainPage(services, caller, { chain, page, shape, strictContract: false });
    return { nfts: rawList(found.items), continuation: found.continuation() };
  };
}

export function contractRead(services: Services, query: URLSearchParams, contractAddress: string): HotRead {
  const input = Input.fromQuery(query);
  const chain = chainParameter(input, services.chains);
  const contract = addressParameter(input, "contract_address", contractAddress);
  const include = includeParameter(query, input, ["metadata", "file_information", "all"]);
  // A wrong word is a fault here as well; who refreshes is the route's business.
  input.boolean("refresh_metadata");
  const page = pageParameters(input);
  input.check();
  const request = { chain, contract, page, contractMembers, shape: listItemShape(shown(include, false)) };
  return async (services, caller) => {
    const found = await contractPage(services, caller, { ...request, strictContract: false });
    return {
      nfts: rawList(found.items),
      contract: rawOrNull(found.contract),
      total: Number(found.total),
      continuation: found.continuation(),
    };
  };
}

export function tokenRead(
  services: Services,
  query: URLSearchParams,
  contractAddress: string,
  tokenText: string,
): HotRead {
  const input = Input.fromQuery(query);
  const chain = chainParameter(input, services.chains);
  const contract = addressParameter(input, "contract_address", contractAddress);
  includeParameter(query, input, ["metadata", "file_information", "contract_information", "all", "rarity"]);
  input.boolean("refresh_metadata");
  const tokenId = tokenIdParameter(input, tokenText);
  input.check();
  const request = { chain, contract, tokenId, shape: detailsShape, contractMembers };
  return async (services, caller) => {
    const found = await nftDetails(services, caller, request);
    return { nft: new RawJson(found.nft), owner: found.owner, contract: rawOrNull(found.contract) };
  };
}

export interface QuickRead {
  /** First value of `chain`, as headers name the freshness. */
  chain: string | null;
  run: HotRead;
}

const plainUrl = /^\/v0\/(?:nfts|accounts)(?:\/(0x[0-9a-fA-F]{40})(?:\/(\d{1,78}))?)?(?:\?([\w.~%+&=,*:-]*))?$/;

/** What a GET asks for when it is one of the reads above, spelled plainly and without a fault; else null. */
export function quickReadOf(services: Services, url: string): QuickRead | null {
  const match = plainUrl.exec(url);
  if (!match) return null;
  const [, address, tokenId, text = ""] = match;
  const query = new URLSearchParams(text);
  if (query.has("refresh_metadata")) return null;
  const run = readOf(services, url.startsWith("/v0/accounts"), query, address, tokenId);
  return run && { chain: query.get("chain"), run };
}

function readOf(
  services: Services,
  ofAccount: boolean,
  query: URLSearchParams,
  address: string | undefined,
  tokenId: string | undefined,
): HotRead | null {
  try {
    if (ofAccount) return address === undefined || tokenId !== undefined ? null : accountRead(services, query, address);
    if (address === undefined) return chainRead(services, query);
    return tokenId === undefined
      ? contractRead(services, query, address)
      : tokenRead(services, query, address, tokenId);
  } catch {
    // The route finds the same faults and tells them.
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
