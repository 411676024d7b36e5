import {
  type Address,
  concatHex,
  encodeAbiParameters,
  getCreate2Address,
  type Hex,
  keccak256,
  parseAbiParameters,
} from "viem";

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

/** The bytes that `CollectionFactory.deploy` takes. The service admin is the relayer the factory was made with. */
export function encodeInitData(
  deploymentConfig: DeploymentConfig,
  runtimeConfig: RuntimeConfig,
  grantServiceAdmin: boolean,
): Hex {
  return encodeAbiParameters(initDataParameters, [deploymentConfig, runtimeConfig, grantServiceAdmin]);
}

/** CREATE2 salt of a collection: it commits to intent, owner and configuration. */
export function collectionSalt(intentId: Hex, owner: Address, initData: Hex): Hex {
  return keccak256(
    encodeAbiParameters(parseAbiParameters("bytes32, address, bytes32"), [intentId, owner, keccak256(initData)]),
  );
}

export type PredictCollectionInput = {
  factory: Address;
  template: Address;
  intentId: Hex;
  owner: Address;
  initData: Hex;
};

/** The address `CollectionFactory.deploy` will give (lower case): the twin of the factory's `predict`. */
export function predictCollection({ factory, template, intentId, owner, initData }: PredictCollectionInput): Address {
  const address = getCreate2Address({
    from: factory,
    salt: collectionSalt(intentId, owner, initData),
    bytecode: cloneInitCode(template),
  });
  return address.toLowerCase() as Address;
}

/** Init code of an ERC-1167 clone. */
function cloneInitCode(template: Address): Hex {
  return concatHex(["0x3d602d80600a3d3981f3363d3d373d3d3d363d73", template, "0x5af43d82803e903d91602b57fd5bf3"]);
}
