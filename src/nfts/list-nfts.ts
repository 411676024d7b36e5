import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { sealCursor } from "../db/cursor.ts";
import { packPosition, positionLength } from "../db/position.ts";
import type { Standard } from "../db/tables/nft.ts";
import type { Services } from "../services.ts";
import { factsOf } from "./item.ts";
import { type ContractRecord, type Nft, type NftParts, needsOfParts, toContractRecord, toNft } from "./nft-record.ts";
import { unknownContract } from "./not-indexed.ts";
import { boundsOf, type Page, type PageBounds, type PageRequest, pageOf, refuseTooDeep } from "./page.ts";
import {
  accountKey,
  accountList,
  contractKey,
  contractList,
  type NamedKey,
  newestKey,
  newestList,
} from "./page-lists.ts";
import { type Outcome, pagesForEach } from "./read-for-each.ts";
import { type PageList, type Selected, selectPages } from "./select-page.ts";
import type { TraitFilter } from "./traits.ts";

/* Pages of tokens as records, in both directions and for several keys in one statement. */

interface ListRequest {
  chain: string;
  page: PageRequest;
  parts: NftParts;
}

/** Whose tokens, in any letter case. Either all keys of a call have a contract, or none has. */
export interface AccountNftsKey {
  account: string;
  /** Only tokens of this contract. */
  contract?: string | undefined;
}

export interface AccountNftPage extends Page<Nft> {
  /** Tokens owned, on all pages, under the same filters. */
  total: bigint;
}

/** The tokens that each account owns on a chain, by contract and token id; empty for accounts that never owned any. */
export async function listNftsOfEachAccount(
  services: Services,
  _caller: Caller,
  input: ListRequest & { exclude: readonly Standard[] },
  keys: readonly AccountNftsKey[],
): Promise<Outcome<AccountNftPage>[]> {
  const chainId = findChain(services.chains, input.chain).id;
  const list = accountList(chainId, { exclude: input.exclude, contract: keys[0]?.contract !== undefined });
  const named = keys.map(({ account, contract }) => ({ account, ...accountKey(chainId, account, contract) }));
  return await listsOf(services, input, list, named, (page, selected, { account }, bounds) => {
    const total = selected.total ?? 0n;
    refuseTooDeep(bounds, input.page, total);
    if (total > 0n) services.demand.account(chainId, account);
    return { ...page, total };
  });
}

export interface ContractNftPage extends Page<Nft> {
  contract: ContractRecord;
  /** The contract's live tokens; null for a filtered list, where counting would cost more than the page. */
  total: bigint | null;
}

/**
 * The live tokens of each contract of a chain, by token id. Burned ones are left out; `getNft` finds them. An outcome
 * is `not_found` for a contract the index has never seen.
 *
 * @param input `traits`: only tokens with matching traits.
 */
export async function listNftsOfEachContract(
  services: Services,
  _caller: Caller,
  input: ListRequest & { traits?: TraitFilter | undefined },
  contracts: readonly string[],
): Promise<Outcome<ContractNftPage>[]> {
  const chainId = findChain(services.chains, input.chain).id;
  const facts = factsOf(services.config, input.chain, false);
  const named = contracts.map((contract) => ({ contract, ...contractKey(chainId, contract) }));
  const list = contractList(chainId, input.traits);
  return await listsOf(services, input, list, named, (page, selected, { contract }, bounds) => {
    if (!selected.own) throw unknownContract();
    refuseTooDeep(bounds, input.page, selected.total);
    services.demand.contract(chainId, contract);
    const record = toContractRecord(facts, selected.own.parts(contract.slice(2).toLowerCase()));
    return { ...page, contract: record, total: selected.total };
  });
}

/**
 * The live tokens of a chain, or of each creator on it, newest mint first. There is no total: it would cost more than
 * the page.
 *
 * @param creators accounts in any letter case, or a single undefined for the whole chain.
 */
export async function listNewestOfEach(
  services: Services,
  caller: Caller,
  input: ListRequest,
  creators: readonly (string | undefined)[],
): Promise<Outcome<Page<Nft>>[]> {
  const chainId = findChain(services.chains, input.chain).id;
  const named = creators.map((creator) => newestKey(chainId, creator));
  const list = newestList(chainId, caller, creators[0] !== undefined);
  return await listsOf(services, input, list, named, (page, _selected, _key, bounds) => {
    refuseTooDeep(bounds, input.page, null);
    for (const { node } of page.items)
      services.demand.shown(caller, chainId, node.contractAddress, String(node.tokenId));
    return page;
  });
}

async function listsOf<K extends NamedKey, P>(
  services: Services,
  input: ListRequest,
  list: PageList,
  keys: readonly K[],
  toPage: (page: Page<Nft>, selected: Selected, key: K, bounds: PageBounds) => P,
): Promise<Outcome<P>[]> {
  const { keyPepper } = services.config;
  const needs = needsOfParts(input.parts);
  const facts = factsOf(services.config, input.chain, false);
  const open = ({ name }: K) => boundsOf(input.page, keyPepper, name, positionLength(list.position));
  const read = async (wanted: readonly K[], bounds: PageBounds) => {
    const listKeys = wanted.map(({ key }) => key);
    const selected = await selectPages(services, list, listKeys, bounds, needs, "pool");
    return selected.map((one) => [one]);
  };
  return await pagesForEach(keys, open, read, ([selected], key, bounds) => {
    if (!selected) throw new Error("the statement gave no row for a key");
    const { items, layout, contracts } = selected;
    const found = Array.from({ length: items?.count ?? 0 }, (_, at) => items?.item(at) ?? []);
    const page = pageOf(found, bounds, (item) => {
      const record = input.parts.contract ? toContractRecord(facts, contracts.parts(item[0] ?? "")) : null;
      const position = list.place((at) => item[at] ?? "", layout);
      return {
        node: toNft(facts, layout, item, record),
        cursor: sealCursor(keyPepper, key.name, packPosition(list.position, position)),
      };
    });
    return toPage(page, selected, key, bounds);
  });
}
