import { sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { bytesToUint, toBytes, uintToBytes } from "../db/bytes.ts";
import { sealCursor } from "../db/cursor.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { fetchedAtMicros, listedContractColumns, listedMetadata, listedTokenColumns } from "./columns.ts";
import { lightOffset, readHeavy } from "./heavy-read.ts";
import {
  type ContractRecord,
  cachedBase,
  isPresent,
  type Nft,
  type NftParts,
  toContractRecord,
  toNft,
} from "./nft-record.ts";
import { boundsOf, type Page, type PageRequest, pageOf, refuseTooDeep } from "./page.ts";
import { type TraitFilter, traitCondition, traitExpression } from "./traits.ts";

export interface ListContractNftsInput {
  chain: string;
  /** Any letter case. */
  contract: string;
  /** Only tokens whose traits are like that. */
  traits?: TraitFilter | undefined;
  page: PageRequest;
  parts: NftParts;
}

export interface ContractNftPage extends Page<Nft> {
  contract: ContractRecord;
  /** Live tokens of the contract; null for a filtered list, where counting would cost more than the page. */
  total: bigint | null;
}

/**
 * The live tokens of a contract, by token id; burned ones are left out here and found by `getNft`.
 *
 * @throws ServiceError `not_found` for a contract the index has never seen.
 */
export async function listContractNfts(
  services: Services,
  _caller: Caller,
  input: ListContractNftsInput,
): Promise<ContractNftPage> {
  const chain = findChain(services.chains, input.chain);
  const contract = toBytes(input.contract);
  const list = `contract-nfts:${chain.id}:${input.contract.toLowerCase()}`;
  const bounds = boundsOf(input.page, services.config.keyPepper, list, 32);
  const direction = bounds.backward ? "desc" : "asc";

  // Only keys are selected where rows may be skipped by number: the join then touches one page.
  let keys = services.index.db
    .selectFrom("nft.tokens as k")
    .select("k.token_id")
    .where("k.chain_id", "=", chain.id)
    .where("k.contract", "=", contract)
    .where("k.supply", ">", sql.lit("0"))
    .orderBy("k.token_id", direction)
    .limit(bounds.limit)
    .offset(bounds.offset);
  if (input.traits) keys = keys.where(traitExpression(traitCondition(chain.id, contract, input.traits)));
  if (bounds.position) {
    keys = keys.where("k.token_id", bounds.backward ? "<" : ">", String(bytesToUint(bounds.position)));
  }

  const statement = services.index.db
    .selectFrom("nft.contracts as c")
    .leftJoin("service.contract_metadata as cm", (join) =>
      join.on("cm.chain_id", "=", chain.id).onRef("cm.address", "=", "c.address"),
    )
    .leftJoin(keys.as("k"), (join) => join.onTrue())
    .leftJoin("nft.tokens as t", (join) =>
      join.on("t.chain_id", "=", chain.id).on("t.contract", "=", contract).onRef("t.token_id", "=", "k.token_id"),
    )
    .leftJoin("service.token_metadata as m", (join) =>
      join.on("m.chain_id", "=", chain.id).on("m.contract", "=", contract).onRef("m.token_id", "=", "k.token_id"),
    )
    .select([...listedTokenColumns, fetchedAtMicros, ...listedContractColumns, "c.token_count as total"])
    .$if(input.parts.metadata, (query) => query.select(listedMetadata))
    .where("c.chain_id", "=", chain.id)
    .where("c.address", "=", contract)
    .orderBy("k.token_id", direction);
  // A filter may have to look at every token of the contract.
  const rows =
    input.traits || bounds.offset > lightOffset
      ? await readHeavy(services, statement, "read")
      : await statement.execute();

  const [first] = rows;
  if (!first) throw new ServiceError("not_found", "no contract with NFTs is known at this address on this chain");
  refuseTooDeep(bounds, input.page, input.traits ? null : first.total);
  services.demand.contract(chain.id, input.contract);
  const record = toContractRecord(input.chain, first);
  const page = pageOf(rows.filter(isPresent), bounds, (row) => ({
    node: toNft(input.chain, cachedBase(services.config), row, record),
    cursor: sealCursor(services.config.keyPepper, list, uintToBytes(BigInt(row.token_id), 32)),
  }));
  return { ...page, contract: record, total: input.traits ? null : first.total };
}
