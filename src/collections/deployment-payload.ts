import type { ChainRequest, Family } from "../transactions/requests.ts";

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
