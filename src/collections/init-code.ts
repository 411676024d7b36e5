import { encodeDeployData, type Hex, keccak256, size } from "viem";
import { collectionAbi, collectionBytecode } from "../../contracts/abi/collection.ts";
import type { DeploymentPayload } from "./check-deployment.ts";
import { configsOf } from "./collection-config.ts";

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

/**
 * Whether a transaction's input creates the collection of a request: it is the init code, or, sent
 * through another contract (a multisignature wallet, a deployer), holds it.
 */
export function holdsInitCode(input: Hex, id: string, code: Omit<InitCode, "data">): boolean {
  const text = input.slice(2).toLowerCase();
  const tag = tagOf(id);
  for (let at = text.indexOf(tag); at >= 0; at = text.indexOf(tag, at + 1)) {
    const end = at + tag.length;
    const start = end - 2 * code.sizeBytes;
    if (start >= 0 && start % 2 === 0 && keccak256(`0x${text.slice(start, end)}`) === code.hash) return true;
  }
  return false;
}

function tagOf(id: string): string {
  return id.replaceAll("-", "").toLowerCase();
}
