import type { Address, Hex } from "viem";
import type { DeploymentConfig, RuntimeConfig } from "../../contracts/abi/config.ts";
import type { ChainRequest, Family } from "../requests/requests.ts";

/** Addresses are `0x` and 40 hex digits in any case; they are answered as they were sent. */
export interface DeployCollectionInput {
  /** As sent, aliases allowed. */
  chain: string;
  name: string;
  symbol: string;
  maxSupply: bigint;
  /** Part of the supply that only an admin mints; default 0. */
  reservedSupply?: bigint | undefined;
  tokensPerMint: bigint;
  mintPriceWei: bigint;
  /** Default: the mint price. */
  presaleMintPriceWei?: bigint | undefined;
  ownerAddress: string;
  treasuryAddress: string;
  publicMintStart: Date;
  /** Absent: no presale. */
  presaleMintStart?: Date | undefined;
  allowlist?: readonly string[] | undefined;
  /** Default true. */
  metadataUpdatable?: boolean | undefined;
  /** Empty or absent: not revealed yet. */
  baseUri?: string | undefined;
  prerevealTokenUri?: string | undefined;
  /** Default 0. */
  royaltiesBps?: bigint | undefined;
  /** Default: the owner. */
  royaltiesAddress?: string | undefined;
  /** The service's wallet becomes an admin of the collection, for reveals and updates. Default true. */
  grantServiceAdmin?: boolean | undefined;
  /** Requests with one key are one deployment, for ever. */
  idempotencyKey?: string | undefined;
}

/** Who sends the transaction: the service's wallet, or one of the creator's. */
export type DeploymentMode = "RELAY" | "SIGN";

export type Deployment = ChainRequest<"deploy", DeploymentPayload>;
export const deployments: Family<Deployment> = { name: "deployment", kinds: ["deploy"] };

/** A deployment as accepted: every default filled in, addresses as sent. Kept with the intent as JSON. */
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
  /** Unix seconds; `presaleMintStart` 0 is no presale. */
  publicMintStart: string;
  presaleMintStart: string;
  metadataUpdatable: boolean;
  baseUri: string;
  prerevealTokenUri: string;
  presaleMerkleRoot: string;
  grantServiceAdmin: boolean;
}

/** The two records with which a collection's contract begins. */
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
      // Prices are promised not to change , so the chain has to know, too.
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
