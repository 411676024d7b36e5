import type { ContractMember, JsonMember } from "../nfts/compose.ts";
import { type AnyField, contractFields, tokenFields } from "../nfts/fields.ts";
import { type ContractRecord, type Nft, unknownContract } from "../nfts/nft-record.ts";
import { RawJson } from "./raw-json.ts";
import { contractMembers, createdItemShape } from "./token-shape.ts";

type Members = Record<string, unknown>;

/** The contract record: an object always, its texts null when the contract tells none. */
export function contractBody(contract: ContractRecord): Members {
  return contractOf(contractMembers, contract);
}

/** A token in a creator's list. */
export function createdItemBody(nft: Nft, show: { metadata: boolean; contract: boolean }): Members {
  const members = createdItemShape(show).map(({ name, field }: JsonMember) => {
    if (typeof field !== "object") return [name, wireValueOf(tokenFields, nft, field)];
    return [name, contractBody(nft.contractRecord ?? unknownContract(nft))];
  });
  return { ...Object.fromEntries(members), owner_addresses: nft.holders ?? [] };
}

/** Where a browser gets the file when we hold no copy: IPFS through the configured gateway; null when nowhere. */
export function servedFileUrl(url: string | null, gateway: string): string | null {
  if (url === null) return null;
  const path = /^ipfs:\/\/(?:ipfs\/)?(.+)$/i.exec(url)?.[1];
  return path === undefined ? (/^https?:\/\//i.test(url) ? url : null) : `${gateway}/${path}`;
}

function contractOf(members: readonly ContractMember[], contract: ContractRecord): Members {
  return Object.fromEntries(
    members.map(({ name, field }) => [
      name,
      typeof field === "object"
        ? contractOf(field.members as readonly ContractMember[], contract)
        : wireValueOf(contractFields, contract, field),
    ]),
  );
}

/** The value of a record's field as /v0 shows it. */
function wireValueOf(table: Record<string, AnyField>, record: object, name: string): unknown {
  const value = (record as Members)[name];
  if (table[name]?.from === "document" && typeof value === "string") return new RawJson(value);
  return typeof value === "bigint" ? String(value) : value;
}
