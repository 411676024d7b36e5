import { type Address, type Hex, parseAbiParameters } from "viem";

/** Fixed when a collection is deployed; `owner` alone moves later. Prices in wei, times in Unix seconds. */
export type DeploymentConfig = {
  name: string;
  symbol: string;
  owner: Address;
  maxSupply: bigint;
  reservedSupply: bigint;
  tokensPerMint: bigint;
  treasuryAddress: Address;
};

/** What `updateConfig` replaces as a whole. `publicMintStart` 2^256-1 is never, `presaleMintStart` 0 is no presale. */
export type RuntimeConfig = {
  baseURI: string;
  metadataUpdatable: boolean;
  publicMintPrice: bigint;
  publicMintPriceFrozen: boolean;
  presaleMintPrice: bigint;
  presaleMintPriceFrozen: boolean;
  publicMintStart: bigint;
  presaleMintStart: bigint;
  prerevealTokenURI: string;
  presaleMerkleRoot: Hex;
  royaltiesBps: bigint;
  royaltiesAddress: Address;
};

/** ABI parameters of the two records and the service-admin flag: the factory's `initData`. */
export const initDataParameters = parseAbiParameters([
  "DeploymentConfig deploymentConfig, RuntimeConfig runtimeConfig, bool grantServiceAdmin",
  "struct DeploymentConfig { string name; string symbol; address owner; uint256 maxSupply; uint256 reservedSupply; uint256 tokensPerMint; address treasuryAddress; }",
  "struct RuntimeConfig { string baseURI; bool metadataUpdatable; uint256 publicMintPrice; bool publicMintPriceFrozen; uint256 presaleMintPrice; bool presaleMintPriceFrozen; uint256 publicMintStart; uint256 presaleMintStart; string prerevealTokenURI; bytes32 presaleMerkleRoot; uint256 royaltiesBps; address royaltiesAddress; }",
]);
