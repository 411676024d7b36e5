import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import type { Standard } from "../db/tables/nft.ts";
import type { JsonText } from "../json/json-text.ts";
import type { Services } from "../services.ts";
import { factsOf, type RecordParts } from "./item.ts";
import { bytesText, type JsonPage, type JsonPageRequest, readJsonPage } from "./json-page.ts";
import { accountList, contractList, newestList } from "./page-lists.ts";
import { selectContract, selectNftBytes } from "./select-one.ts";
import type { PageNeeds } from "./select-page.ts";
import type { ContractMember, NftShape } from "./shape.ts";
import type { TraitFilter } from "./traits.ts";
import { unknownContract } from "./unknown-contract.ts";
import { contractWriter, itemsWriter, needsOfShape } from "./writers.ts";

/*
 * The reads of tokens whose answer is put together as bytes (compose-bytes.ts), forwards: the rows, their order and their
 * cursors are those of list-nfts.ts and get-nft.ts, which test/graphql/same-answers.test.ts holds.
 */

/** What an account holds. */
export async function accountPage(
  services: Services,
  _caller: Caller,
  input: JsonPageRequest & { account: string; exclude: readonly Standard[]; contract?: string | undefined },
): Promise<JsonPage> {
  const { account, exclude, contract } = input;
  const chainId = findChain(services.chains, input.chain).id;
  const list = accountList(chainId, { exclude, contract: contract !== undefined });
  const key = { account: toBytes(account), ...(contract === undefined ? {} : { contract: toBytes(contract) }) };
  const page = await readJsonPage(services, `account-nfts:${chainId}:${account.toLowerCase()}`, list, key, input);
  if (page?.total) services.demand.account(chainId, account);
  if (!page) throw unknownContract();
  return page;
}

/** The live tokens of a contract. */
export async function contractPage(
  services: Services,
  _caller: Caller,
  input: JsonPageRequest & { contract: string; traits?: TraitFilter | undefined },
): Promise<JsonPage> {
  const { contract, traits } = input;
  const chainId = findChain(services.chains, input.chain).id;
  const name = `contract-nfts:${chainId}:${contract.toLowerCase()}`;
  const key = { contract: toBytes(contract) };
  const page = await readJsonPage(services, name, contractList(chainId, traits), key, input);
  if (!page) throw unknownContract();
  services.demand.contract(chainId, contract);
  return page;
}

/** The newest tokens of a chain. */
export async function chainPage(services: Services, caller: Caller, input: JsonPageRequest): Promise<JsonPage> {
  const chainId = findChain(services.chains, input.chain).id;
  const page = await readJsonPage(services, `chain-nfts:${chainId}:`, newestList(chainId, caller, false), {}, input);
  services.demand.newest(chainId);
  if (!page) throw unknownContract();
  return page;
}

export interface JsonNft {
  nft: JsonText;
  /** Where the contract was asked for. */
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
  const chainId = findChain(services.chains, input.chain).id;
  const { items, contracts, layout, release } = await selectNftBytes(services, { ...input, chainId }, needsFor(input));
  services.demand.token(caller, chainId, input.contract, input.tokenId);
  const facts = factsOf(services.config, input.chain, true);
  const nft = itemsWriter(input.shape, layout)({ items, contracts, facts }, 1);
  const found: JsonNft = { nft, owner: null, contract: null };
  if (input.contractMembers) {
    const record = contracts.parts(input.contract.slice(2).toLowerCase());
    const owner = items.text(layout.at("owner"));
    if (owner !== "") found.owner = `0x${owner}`;
    found.contract = bytesText(contractWriter(input.contractMembers)(record, { facts, contract: () => record }));
  }
  release();
  return found;
}

/** See `getContracts`: one contract's record; null for one the index has never seen. */
export async function contractDetails(
  services: Services,
  _caller: Caller,
  input: { chain: string; address: string; members: readonly ContractMember[] },
): Promise<JsonText | null> {
  const chainId = findChain(services.chains, input.chain).id;
  const record: RecordParts | null = await selectContract(services, chainId, input.address);
  if (!record) return null;
  services.demand.contract(chainId, input.address);
  const facts = factsOf(services.config, input.chain, true);
  return bytesText(contractWriter(input.members)(record, { facts, contract: () => record }));
}

const detailNeeds = new WeakMap<PageNeeds, PageNeeds>();

/** The details of /v0 show the owner and the contract beside the token. */
function needsFor(input: { shape: NftShape; contractMembers?: readonly ContractMember[] }): PageNeeds {
  const needs = needsOfShape(input.shape);
  if (!input.contractMembers) return needs;
  const more = detailNeeds.get(needs) ?? { ...needs, live: new Set([...needs.live, "owner" as const]), contract: true };
  detailNeeds.set(needs, more);
  return more;
}
