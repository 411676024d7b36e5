import { type Address, encodeAbiParameters, getCreate2Address, type Hex, keccak256, parseAbiParameters } from "viem";
import { cloneInitCode } from "./clone-code.ts";
import { type DeploymentConfig, initDataParameters, type RuntimeConfig } from "./init-data.ts";

export { type DeploymentConfig, initDataParameters, type RuntimeConfig } from "./init-data.ts";

/** The bytes that `CollectionFactory.deploy` takes. The service admin is the relayer the factory was made with. */
export function encodeInitData(
  deploymentConfig: DeploymentConfig,
  runtimeConfig: RuntimeConfig,
  grantServiceAdmin: boolean,
): Hex {
  return encodeAbiParameters(initDataParameters, [deploymentConfig, runtimeConfig, grantServiceAdmin]);
}

const saltParameters = parseAbiParameters("bytes32, address, bytes32");

/** CREATE2 salt of a collection: it commits to intent, owner and configuration. */
export function collectionSalt(intentId: Hex, owner: Address, initData: Hex): Hex {
  return keccak256(encodeAbiParameters(saltParameters, [intentId, owner, keccak256(initData)]));
}

export type PredictCollectionInput = {
  factory: Address;
  template: Address;
  intentId: Hex;
  owner: Address;
  initData: Hex;
  /** `collectionSalt` of the others, where it is known already. */
  salt?: Hex;
};

/** The address `CollectionFactory.deploy` will give (lower case): the twin of the factory's `predict`. */
export function predictCollection({
  factory,
  template,
  intentId,
  owner,
  initData,
  salt,
}: PredictCollectionInput): Address {
  const address = getCreate2Address({
    from: factory,
    salt: salt ?? collectionSalt(intentId, owner, initData),
    bytecode: cloneInitCode(template, initData),
  });
  return address.toLowerCase() as Address;
}
