import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { sealCursor } from "../db/cursor.ts";
import { packPosition, positionLength } from "../db/position.ts";
import type { Standard } from "../db/tables/nft.ts";
import { JsonText } from "../json/json-text.ts";
import type { Services } from "../services.ts";
import { type ContractMember, itemsWriter, type NftShape, needsOfShape, recordWriter } from "./compose.ts";
import { factsOf } from "./item.ts";
import { unknownContract } from "./not-indexed.ts";
import { boundsOf, type PageRequest, refuseTooDeep } from "./page.ts";
import {
  accountKey,
  accountList,
  contractKey,
  contractList,
  type NamedKey,
  newestKey,
  newestList,
} from "./page-lists.ts";
import { selectContract, selectNft } from "./select-one.ts";
import { type PageList, type PageNeeds, selectPages } from "./select-page.ts";
import type { TraitFilter } from "./traits.ts";

/*
 * Forward token reads whose answers are assembled as bytes (compose.ts). Rows, order and cursors equal those of
 * list-nfts.ts and get-nft.ts, which test/graphql/same-answers.test.ts checks.
 */

/** A page whose items are one JSON text. Cursors are signed on demand. */
export interface JsonPage {
  /** The items, joined by commas; empty if there are none. */
  items: JsonText;
  hasNext: boolean;
  hasPrevious: boolean;
  total: bigint | null;
  startCursor: () => string | null;
  endCursor: () => string | null;
  continuation: () => string | null;
  /** The items with their cursors, if `split` was set. */
  parts: { item: string; cursor: string }[] | null;
  /** The contract's record, if the list is of one contract and the record was requested. */
  contract: JsonText | null;
}

export interface JsonPageRequest {
  /** As spelled in the request. */
  chain: string;
  page: PageRequest;
  shape: NftShape;
  /** Return the items separately, with their cursors. */
  split?: boolean;
  contractMembers?: readonly ContractMember[];
  /** Include whole texts in the contract's record, as in its details. */
  wholeContract?: boolean;
}

/** The tokens that an account owns. */
export async function accountPage(
  services: Services,
  _caller: Caller,
  input: JsonPageRequest & { account: string; exclude: readonly Standard[]; contract?: string | undefined },
): Promise<JsonPage> {
  const { account, exclude, contract } = input;
  const chainId = findChain(services.chains, input.chain).id;
  const list = accountList(chainId, { exclude, contract: contract !== undefined });
  const page = await readPage(services, list, accountKey(chainId, account, contract), input);
  if (page.total) services.demand.account(chainId, account);
  return page;
}

/** A contract's live tokens. @throws ServiceError `not_found` for one the index has never seen. */
export async function contractPage(
  services: Services,
  _caller: Caller,
  input: JsonPageRequest & { contract: string; traits?: TraitFilter | undefined },
): Promise<JsonPage> {
  const { contract, traits } = input;
  const chainId = findChain(services.chains, input.chain).id;
  const page = await readPage(services, contractList(chainId, traits), contractKey(chainId, contract), input, contract);
  services.demand.contract(chainId, contract);
  return page;
}

/** A chain's newest tokens. */
export async function chainPage(services: Services, caller: Caller, input: JsonPageRequest): Promise<JsonPage> {
  const chainId = findChain(services.chains, input.chain).id;
  const page = await readPage(services, newestList(chainId, caller, false), newestKey(chainId), input);
  services.demand.newest(chainId);
  return page;
}

/** @param contract of a list of one contract. */
async function readPage(
  services: Services,
  list: PageList,
  { name, key }: NamedKey,
  request: JsonPageRequest,
  contract = "",
): Promise<JsonPage> {
  const { keyPepper } = services.config;
  const { page, shape, split, contractMembers } = request;
  const bounds = boundsOf(page, keyPepper, name, positionLength(list.position));
  const [selected] = await selectPages(services, list, [key], bounds, needsOfShape(shape), "pipelined");
  if (!selected?.known) throw unknownContract();
  const { total, items, layout, contracts } = selected;
  refuseTooDeep(bounds, page, total);
  const more = (items?.count ?? 0) > page.size;
  const count = Math.min(items?.count ?? 0, page.size);
  const placeOf = (at: number) => {
    items?.open(at);
    return list.place((part) => items?.text(part) ?? "", layout);
  };
  const sealed = (place: readonly string[]) => sealCursor(keyPepper, name, packPosition(list.position, place));
  const [first, last] = items ? [placeOf(0), placeOf(count - 1)] : [];
  const facts = factsOf(services.config, request.chain, true);
  const written = (from: number, end: number) =>
    items ? itemsWriter(shape, layout)({ items, contracts, facts }, end, from) : new JsonText();
  const part = (at: number) => ({ item: written(at, at + 1).take(), cursor: sealed(placeOf(at)) });
  const record = request.wholeContract ? selected.whole : selected.own;
  const read: JsonPage = {
    items: split ? new JsonText() : written(0, count),
    parts: split ? Array.from({ length: count }, (_, at) => part(at)) : null,
    hasNext: more,
    hasPrevious: bounds.offset > 0 || bounds.position !== null,
    total,
    startCursor: () => (first ? sealed(first) : null),
    endCursor: () => (last ? sealed(last) : null),
    continuation: () => (more && last ? sealed(last) : null),
    contract: contractMembers && record ? recordWriter(contractMembers)(record, hexOf(contract), facts) : null,
  };
  selected.release();
  return read;
}

export interface JsonNft {
  nft: JsonText;
  /** Only if the contract was requested. */
  owner: string | null;
  contract: JsonText | null;
}

/** See `getNft`. */
export async function nftDetails(
  services: Services,
  caller: Caller,
  input: {
    chain: string;
    contract: string;
    tokenId: bigint;
    shape: NftShape;
    contractMembers?: readonly ContractMember[];
  },
): Promise<JsonNft> {
  const { contract, contractMembers } = input;
  const chainId = findChain(services.chains, input.chain).id;
  const selected = await selectNft(services, { ...input, chainId }, needsFor(input), "pipelined");
  const { items, contracts, layout } = selected;
  services.demand.token(caller, chainId, contract, input.tokenId);
  const facts = factsOf(services.config, input.chain, true);
  const details: JsonNft = {
    nft: itemsWriter(input.shape, layout)({ items, contracts, facts }, 1),
    owner: null,
    contract: null,
  };
  if (contractMembers) {
    const owner = items.text(layout.at("owner"));
    if (owner !== "") details.owner = `0x${owner}`;
    details.contract = recordWriter(contractMembers)(contracts, hexOf(contract), facts);
  }
  selected.release();
  return details;
}

/** One contract's record, as `getContracts` gives it; null for one the index has never seen. */
export async function contractDetails(
  services: Services,
  _caller: Caller,
  input: { chain: string; address: string; members: readonly ContractMember[] },
): Promise<JsonText | null> {
  const chainId = findChain(services.chains, input.chain).id;
  const record = await selectContract(services, chainId, input.address);
  if (!record) return null;
  services.demand.contract(chainId, input.address);
  return recordWriter(input.members)(record, hexOf(input.address), factsOf(services.config, input.chain, true));
}

/** Lower-case hex digits without 0x. */
function hexOf(address: string): string {
  return address.slice(2).toLowerCase();
}

const detailNeeds = new WeakMap<PageNeeds, PageNeeds>();

/** The details of /v0 also show the owner and the contract. */
function needsFor(input: { shape: NftShape; contractMembers?: readonly ContractMember[] }): PageNeeds {
  const needs = needsOfShape(input.shape);
  if (!input.contractMembers) return needs;
  const more = detailNeeds.get(needs) ?? { ...needs, live: new Set([...needs.live, "owner" as const]), contract: true };
  detailNeeds.set(needs, more);
  return more;
}
