import { encodeDeployData, type Hex, keccak256, size } from "viem";
import { collectionAbi, collectionBytecode } from "../../contracts/abi/collection.ts";
import { configsOf } from "./collection-config.ts";
import type { DeploymentPayload } from "./deployment-payload.ts";

/** The creation of a standalone collection, marked as the one of a request. */
export interface InitCode {
  data: Hex;
  hash: Hex;
  sizeBytes: number;
}

/**
 * What a wallet sends, without a receiver, to create a standalone collection. The id stands behind the
 * constructor's arguments, where nothing reads it: it makes these bytes the request's own.
 */
export function encodeInitCode(id: string, payload: DeploymentPayload): InitCode {
  const code = encodeDeployData({ abi: collectionAbi, bytecode: collectionBytecode, args: configsOf(payload) });
  const data: Hex = `${code}${tagOf(id)}`;
  return { data, hash: keccak256(data), sizeBytes: size(data) };
}

function tagOf(id: string): string {
  return id.replaceAll("-", "").toLowerCase();
}
