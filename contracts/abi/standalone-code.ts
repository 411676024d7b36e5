import { type Address, concatHex, getContractAddress, type Hex, pad, size, slice } from "viem";
import { packArgs } from "./clone-code.ts";
import { collectionImmutables, collectionRuntime } from "./collection-runtime.ts";
import { encodeInitData } from "./config.ts";
import type { DeploymentConfig, RuntimeConfig } from "./init-data.ts";

/** What a standalone collection leaves on the chain. */
export interface StandaloneCode {
  /** Code of the collection, its immutable variables included. */
  runtime: Hex;
  /** The account that holds its arguments; lower case. */
  blob: Address;
  /** Code of that account: a STOP and the packed arguments. */
  blobCode: Hex;
}

/**
 * The code that `Collection` of contracts/src has at an address after its constructor ran with these records.
 *
 * @param address of the collection. Its first creation (nonce 1, EIP-161) is the blob.
 * @param deployer the constructor's `msg.sender`: the wallet that sent the creation.
 */
export function standaloneCode(
  address: Address,
  deployer: Address,
  [deployment, runtime]: [DeploymentConfig, RuntimeConfig],
): StandaloneCode {
  const blob = getContractAddress({ from: address, nonce: 1n }).toLowerCase() as Address;
  const values = { blob, deployer, firstOwner: deployment.owner, fees: deployment.treasuryAddress } as const;
  let code: Hex = collectionRuntime;
  for (const [name, offsets] of Object.entries(collectionImmutables) as [keyof typeof values, readonly number[]][])
    for (const start of offsets) code = replaceWord(code, start, pad(values[name], { size: 32 }));
  // The flag behind the two records is not part of what is packed.
  const packed = packArgs(encodeInitData(deployment, runtime, false));
  return { runtime: code.toLowerCase() as Hex, blob, blobCode: concatHex(["0x00", packed]).toLowerCase() as Hex };
}

function replaceWord(code: Hex, start: number, word: Hex): Hex {
  return concatHex([slice(code, 0, start), word, slice(code, start + 32, size(code))]);
}
