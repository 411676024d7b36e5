import type { Address, Hex } from "viem";
import type { DeploymentConfig, RuntimeConfig } from "../../contracts/abi/config.ts";
import type { DeploymentPayload } from "./deployment-input.ts";

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
