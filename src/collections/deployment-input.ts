import type { Address, Hex } from "viem";
import type { DeploymentConfig, RuntimeConfig } from "../../contracts/abi/config.ts";
import {
  address,
  addresses,
  chain,
  date,
  flag,
  type InputOf,
  idempotencyKey,
  needed,
  optional,
  pick,
  royalties,
  royaltiesReceiver,
  text,
  uint,
  wei,
} from "../requests/fields.ts";
import type { ChainRequest, Family } from "../requests/requests.ts";

const starts = {
  publicMintStart: date({
    v0: ["public_mint_start", "public_mint_start_date"],
    doc: "The public sale is open in blocks after this time.",
  }),
  presaleMintStart: date({
    v0: ["presale_mint_start", "presale_mint_start_date"],
    doc: "The presale is open in blocks after this time.",
  }),
};

/** The members of a deployment. */
export const deployFields = {
  chain,
  name: text({ required: true, doc: "The name of the collection, not empty. It cannot be changed later." }),
  symbol: text({ required: true, doc: "The symbol of the collection, such as KEY. It cannot be changed later." }),
  maxSupply: uint({
    required: true,
    min: 1,
    doc: "The maximum number of tokens: 1 to 4294967295, or what your plan allows (5000 on a free one). It cannot be changed later.",
  }),
  reservedSupply: uint({
    v0: ["team_reserve"],
    default: 0,
    doc: "How many tokens of the supply only an admin can mint, free of charge; 0 by default. It cannot be changed later.",
  }),
  tokensPerMint: uint({
    required: true,
    min: 1,
    doc: "The maximum number of tokens in one mint call: 1 to `maxSupply`. It cannot be changed later.",
  }),
  mintPriceWei: wei({
    required: true,
    v0: ["mint_price"],
    doc: "The price of a token in the public sale, in wei of the chain's native token. 0 makes minting free. It cannot be changed later.",
    v0Doc:
      "The price of a token in the public sale, in the chain's native token, with up to 18 decimals. 0 makes minting free. It cannot be changed later.",
  }),
  presaleMintPriceWei: wei({
    v0: ["presale_mint_price"],
    doc: "The price of a token in the presale, in wei; `mintPriceWei` by default. It cannot be changed later.",
    v0Doc:
      "The price of a token in the presale, in the chain's native token; `mintPriceWei` by default. It cannot be changed later.",
  }),
  ownerAddress: address({
    required: true,
    graphql: "owner",
    doc: "The wallet that will own the contract. It cannot be an address of this service.",
  }),
  treasuryAddress: address({
    required: true,
    graphql: "treasury",
    doc: "The address that receives withdrawn mint fees. It cannot be changed later. If it is a contract, it must accept payments.",
  }),
  publicMintStart: needed(starts.publicMintStart),
  metadataUpdatable: flag({
    default: true,
    doc: "Whether the collection can be updated later. False freezes it now and requires a `baseUri`.",
  }),
  presaleMintStart: {
    ...starts.presaleMintStart,
    doc: "The presale is open in blocks after this time. If omitted, there is no presale.",
  },
  allowlist: addresses({
    v0: ["presale_whitelisted_addresses"],
    doc: "The wallets of the presale, up to 100,000. Each can make one mint call; duplicates are removed.",
  }),
  baseUri: text({
    emptyIsText: true,
    doc: "The URI of the metadata directory, ending with a slash: ipfs://…/. A token's URI is this text followed by its id. If omitted, the collection is revealed later.",
  }),
  prerevealTokenUri: text({
    emptyIsText: true,
    doc: "The metadata URI that all tokens have until the reveal, such as ipfs://….",
  }),
  royaltiesBps: royalties({ default: 0 }),
  royaltiesAddress: royaltiesReceiver,
  grantServiceAdmin: flag({
    graphql: "serviceAdmin",
    only: "graphql",
    default: true,
    doc: "Make the service's wallet an admin of the contract, so that it can reveal and update the collection.",
  }),
  idempotencyKey,
};

/** Addresses are `0x` and 40 hex digits in any letter case; answers return them as they were sent. */
export type DeployCollectionInput = InputOf<typeof deployFields>;

/** The members of an update; absent ones stay unchanged. */
export const updateFields = {
  chain,
  collection: address({
    required: true,
    v0: ["contract_address"],
    doc: "The address of the collection, in any letter case.",
  }),
  publicMintStart: starts.publicMintStart,
  presaleMintStart: starts.presaleMintStart,
  allowlist: addresses({
    v0: ["presale_whitelisted_addresses"],
    doc: "The wallets of the presale, up to 100,000. They replace the whole list; an empty list admits no wallet.",
  }),
  baseUri: text({
    emptyIsText: true,
    doc: "The URI of the metadata directory, such as ipfs://…/, which reveals the collection. An empty string hides it again.",
  }),
  prerevealTokenUri: deployFields.prerevealTokenUri,
  royaltiesBps: royalties({}),
  royaltiesAddress: address({
    v0: ["royalties_address", "royalty_address"],
    doc: "The address that receives royalties.",
  }),
  freezeMetadata: flag({
    doc: "True permanently freezes the collection: no later update is accepted. False changes nothing.",
  }),
  idempotencyKey,
};

/** Members that no update changes. Old clients repeat them by habit, and are refused if they differ. */
export const fixedFields = optional(
  pick(
    deployFields,
    "name",
    "symbol",
    "maxSupply",
    "reservedSupply",
    "tokensPerMint",
    "mintPriceWei",
    "treasuryAddress",
  ),
);

export type UpdateCollectionInput = InputOf<typeof updateFields> & {
  fixed?: FixedMembers | undefined;
};
export type FixedMembers = InputOf<typeof fixedFields>;

/** Which wallet sends the transaction: the service's, or one of the creator's. */
export type DeploymentMode = "RELAY" | "SIGN";

export type Deployment = ChainRequest<"deploy", DeploymentPayload>;
export const deployments: Family<Deployment> = { name: "deployment", kinds: ["deploy"] };

/** A deployment as accepted: with all defaults, addresses as sent. Stored with the intent as JSON. */
export interface DeploymentPayload {
  name: string;
  symbol: string;
  ownerAddress: string;
  treasuryAddress: string;
  royaltiesAddress: string;
  royaltiesBps: string;
  maxSupply: string;
  reservedSupply: string;
  tokensPerMint: string;
  publicMintPriceWei: string;
  presaleMintPriceWei: string;
  /** Unix seconds; `presaleMintStart` 0 means no presale. */
  publicMintStart: string;
  presaleMintStart: string;
  metadataUpdatable: boolean;
  baseUri: string;
  prerevealTokenUri: string;
  presaleMerkleRoot: string;
  grantServiceAdmin: boolean;
}

/** The two initial records of a collection's contract. */
export function configsOf(payload: DeploymentPayload): [DeploymentConfig, RuntimeConfig] {
  return [
    {
      name: payload.name,
      symbol: payload.symbol,
      owner: lowerCase(payload.ownerAddress),
      maxSupply: BigInt(payload.maxSupply),
      reservedSupply: BigInt(payload.reservedSupply),
      tokensPerMint: BigInt(payload.tokensPerMint),
      treasuryAddress: lowerCase(payload.treasuryAddress),
    },
    {
      baseURI: payload.baseUri,
      metadataUpdatable: payload.metadataUpdatable,
      publicMintPrice: BigInt(payload.publicMintPriceWei),
      // Prices are promised never to change, so they are frozen on the chain too.
      publicMintPriceFrozen: true,
      presaleMintPrice: BigInt(payload.presaleMintPriceWei),
      presaleMintPriceFrozen: true,
      publicMintStart: BigInt(payload.publicMintStart),
      presaleMintStart: BigInt(payload.presaleMintStart),
      prerevealTokenURI: payload.prerevealTokenUri,
      presaleMerkleRoot: payload.presaleMerkleRoot as Hex,
      royaltiesBps: BigInt(payload.royaltiesBps),
      royaltiesAddress: lowerCase(payload.royaltiesAddress),
    },
  ];
}

export function lowerCase(address: string): Address {
  return address.toLowerCase() as Address;
}
