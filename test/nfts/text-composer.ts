import { type ContractMember, listMark, type NftShape } from "../../src/nfts/compose.ts";
import { contractFields, type Facts, storedNames, tokenFields, toNaiveSeconds } from "../../src/nfts/fields.ts";
import type { Item, Layout, RecordParts } from "../../src/nfts/item.ts";

/*
 * Items put together as texts, member by member from the tables of the fields: what the composer of bytes is compared with.
 */

type Part = (name: string) => string;

const storedContractNames = storedNames(contractFields);

/** @param contract of an address, in hex digits. */
export function textOf(
  shape: NftShape,
  layout: Layout,
  item: Item,
  facts: Facts,
  contract: (address: string) => RecordParts,
): string {
  const part = (name: string) => item[layout.at(name as never)] ?? "";
  return objectOf(
    shape.map(({ name, field }) => {
      if (typeof field !== "object") return [name, memberOf(field, part, facts)];
      if (field.group !== "fileInformation")
        return [name, recordOf(field.members, contract(part("contractAddress")), facts)];
      const [width, height, sizeBytes] = part("fileInformation").split(",");
      const sizes: Record<string, string | undefined> = { width, height, sizeBytes, fileTypename: '"FileInformation"' };
      const members = field.members.map((member) => [member.name, sizes[String(member.field)] ?? "null"] as const);
      return [name, part("fileInformation") === "" ? "null" : objectOf(members)];
    }),
  );
}

function memberOf(field: string, part: Part, facts: Facts): string {
  if (field === "id") return nodeId(`Nft:${JSON.parse(facts.chain)}:0x${part("contractAddress")}:${part("tokenId")}`);
  if (field === "nftTypename") return '"Nft"';
  if (field === "null") return "null";
  if (field === "mintDate") return part("mintedAt") === "" ? "null" : `"${toNaiveSeconds(part("mintedAt"))}"`;
  if (field === "updatedDate") return part("metadataUpdatedAt") === "" ? "null" : `"${part("metadataUpdatedAt")}"`;
  return tokenFields[field as keyof typeof tokenFields].json(part(field), facts, part);
}

function recordOf(members: readonly ContractMember[], record: RecordParts, facts: Facts): string {
  return objectOf(
    members.map(({ name, field }) => {
      if (typeof field === "object") return [name, recordOf(field.members as readonly ContractMember[], record, facts)];
      if (field === "id") return [name, nodeId(`Contract:${JSON.parse(facts.chain)}:0x${record.address}`)];
      if (field === "contractTypename") return [name, '"Contract"'];
      if (field === "listMark") return [name, listMark];
      const parts: Record<string, string> = { address: record.address, standard: record.standard };
      return [
        name,
        contractFields[field].json(
          parts[field] ?? record.stored[storedContractNames.indexOf(field)] ?? "",
          facts,
          () => "",
        ),
      ];
    }),
  );
}

function objectOf(members: readonly (readonly [name: string, text: string])[]): string {
  return `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(",")}}`;
}

function nodeId(text: string): string {
  return `"${Buffer.from(text).toString("base64url")}"`;
}
