import type { ContractMember, JsonMember, NftShape } from "../nfts/shape.ts";
import type { TokenMembers } from "./token-body.ts";

/** The contract record: an object always, its texts null when the contract tells none. */
export const contractMembers: readonly ContractMember[] = [
  { name: "name", field: "name" },
  { name: "symbol", field: "symbol" },
  { name: "type", field: "standard" },
  {
    name: "metadata",
    field: {
      group: "contractTexts",
      members: [
        { name: "description", field: "description" },
        { name: "thumbnail_url", field: "thumbnailUrl" },
        { name: "cached_thumbnail_url", field: "cachedThumbnailUrl" },
        { name: "banner_url", field: "bannerUrl" },
        { name: "cached_banner_url", field: "cachedBannerUrl" },
      ],
    },
  },
];

const contract: JsonMember = { name: "contract", field: { group: "contract", members: contractMembers } };
const key: NftShape = [
  { name: "contract_address", field: "contractAddress" },
  { name: "token_id", field: "tokenId" },
];
const chain: JsonMember = { name: "chain", field: "chain" };
const texts: NftShape = [
  { name: "name", field: "name" },
  { name: "description", field: "description" },
];
const files: NftShape = [
  { name: "file_url", field: "fileUrl" },
  { name: "animation_url", field: "animationUrl" },
  { name: "cached_file_url", field: "cachedFileUrl" },
  { name: "cached_animation_url", field: "cachedAnimationUrl" },
];
const creator: JsonMember = { name: "creator_address", field: "creator" };
const metadata: JsonMember = { name: "metadata", field: "metadata" };
const metadataUrl: JsonMember = { name: "metadata_url", field: "metadataUrl" };
const fileInformation: JsonMember = {
  name: "file_information",
  field: {
    group: "fileInformation",
    members: [
      { name: "height", field: "height" },
      { name: "width", field: "width" },
      { name: "file_size", field: "sizeBytes" },
    ],
  },
};
const dates: NftShape = [
  { name: "mint_date", field: "mintDate" },
  { name: "updated_date", field: "updatedDate" },
];

/** One array per set of members: whoever writes statements knows a shape by its identity. */
const shapes = new Map<string, NftShape>();
function once(name: string, make: () => NftShape): NftShape {
  const known = shapes.get(name) ?? make();
  shapes.set(name, known);
  return known;
}

/** An item of an account's list. */
export function accountItemShape(show: { metadata: boolean; contract: boolean }): NftShape {
  return once(`account ${show.metadata} ${show.contract}`, () => [
    ...[...key, ...texts, ...files, creator],
    ...(show.metadata ? [metadata, metadataUrl] : []),
    ...(show.contract ? [contract] : []),
    chain,
  ]);
}

/** An item of a contract's or a chain's list. */
export function listItemShape(show: TokenMembers): NftShape {
  const { metadata: texts, fileInformation: file, contract: record, dates: times } = show;
  return once(`list ${texts} ${file} ${record} ${times}`, () => [
    ...[chain, ...key],
    ...(show.metadata ? [metadataUrl, metadata] : []),
    ...(show.fileInformation ? [fileInformation] : []),
    ...(show.metadata ? files : []),
    ...(show.contract ? [contract] : []),
    ...(show.dates ? dates : []),
  ]);
}

/** The one token of a details answer: every member, whatever was asked for. */
export const detailsShape: NftShape = [
  ...[chain, ...key, metadataUrl, metadata, fileInformation, ...files, creator, ...dates],
  { name: "rarity", field: "null" },
  { name: "owner", field: "owner" },
];
