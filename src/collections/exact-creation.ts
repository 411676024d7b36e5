import {
  type Address,
  encodeDeployData,
  type GetTransactionReturnType,
  getContractAddress,
  type Hash,
  type Hex,
  keccak256,
  type PublicClient,
  size,
  TransactionNotFoundError,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
} from "viem";
import { collectionAbi, collectionBytecode } from "../../contracts/abi/collection.ts";
import { standaloneCode } from "../../contracts/abi/standalone-code.ts";
import { toHex } from "../db/bytes.ts";
import { configsOf, type DeploymentPayload } from "./deployment-input.ts";

/** The init code of a standalone collection, marked as that of one request. */
interface InitCode {
  data: Hex;
  hash: Hex;
  sizeBytes: number;
}

/**
 * The data that a wallet sends, without a receiver, to create a standalone collection. The request's id is appended to
 * the constructor's arguments, where nothing reads it: it makes these bytes unique to the request.
 */
export function encodeInitCode(id: string, payload: DeploymentPayload): InitCode {
  const code = encodeDeployData({ abi: collectionAbi, bytecode: collectionBytecode, args: configsOf(payload) });
  const data: Hex = `${code}${id.replaceAll("-", "").toLowerCase()}`;
  return { data, hash: keccak256(data), sizeBytes: size(data) };
}

/** The bytes handed out for one request, as stored in its row. */
interface HandedOut {
  id: string;
  /** A `DeploymentPayload`. */
  payload: unknown;
  init_code_hash: Buffer;
  init_code_bytes: number;
}

/** A mined creation. Addresses in lower case. */
export interface Creation {
  address: Address;
  sender: Address;
  hash: Hash;
  block: bigint;
  blockHash: Hash;
}

/** Null: the node does not know the transaction. */
export async function readTransaction(client: PublicClient, hash: Hash): Promise<GetTransactionReturnType | null> {
  return await client.getTransaction({ hash }).catch(nullOf(TransactionNotFoundError));
}

/** Null while the transaction is not mined. */
export async function readReceipt(client: PublicClient, hash: Hash): Promise<TransactionReceipt | null> {
  return await client.getTransactionReceipt({ hash }).catch(nullOf(TransactionReceiptNotFoundError));
}

function nullOf(notFound: typeof TransactionNotFoundError | typeof TransactionReceiptNotFoundError) {
  return (error: unknown): null => {
    if (error instanceof notFound) return null;
    throw error;
  };
}

/** Hash of the init code that a transaction runs; null for a call, as a called contract may just pass bytes along. */
export function hashOfCreation({ to, input }: { to: Address | null; input: Hex }): Hex | null {
  return to === null ? keccak256(input) : null;
}

/** The address of a creation, in lower case (EIP-161: from sender and nonce). */
export function addressOfCreation({ from, nonce }: { from: Address; nonce: number }): Address {
  return getContractAddress({ from, nonce: BigInt(nonce) }).toLowerCase() as Address;
}

/**
 * The collection that a transaction created for a request. Decided by the code that ran and the code at the address,
 * never by a contract's answer or an event: anyone's contract can return anything.
 *
 * It counts when the transaction has no receiver, its input is byte for byte what was handed out, it succeeded, and the
 * code at its address is the compiled contract with the request's arguments.
 *
 * @returns null for anything else, and while the transaction is not mined.
 */
export async function readExactCreation(
  client: PublicClient,
  hash: Hash,
  request: HandedOut,
): Promise<Creation | null> {
  const transaction = await readTransaction(client, hash);
  if (!transaction || size(transaction.input) !== request.init_code_bytes) return null;
  if (hashOfCreation(transaction) !== toHex(request.init_code_hash)) return null;
  const receipt = await readReceipt(client, hash);
  if (receipt?.status !== "success") return null;
  const address = addressOfCreation(transaction);
  const sender = transaction.from.toLowerCase() as Address;
  if (!(await isConfirmed(client, address, sender, request))) return null;
  return { address, sender, hash, block: receipt.blockNumber, blockHash: receipt.blockHash };
}

/**
 * Whether the code at the address is what the bytes create. Read from the newest state, which every node has: this code
 * cannot change. For bytes from another release of the contract, their hash alone is the proof.
 */
async function isConfirmed(
  client: PublicClient,
  address: Address,
  sender: Address,
  { id, payload, init_code_hash }: HandedOut,
): Promise<boolean> {
  const code = await client.getCode({ address });
  if (!code) return false;
  const deployment = payload as DeploymentPayload;
  if (encodeInitCode(id, deployment).hash !== toHex(init_code_hash)) return true;
  const expected = standaloneCode(address, sender, configsOf(deployment));
  if (code.toLowerCase() !== expected.runtime) return false;
  return (await client.getCode({ address: expected.blob }))?.toLowerCase() === expected.blobCode;
}
