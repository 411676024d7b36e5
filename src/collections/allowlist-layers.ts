import { Worker } from "node:worker_threads";
import { MerkleTree } from "merkletreejs";
import { type Hex, hexToBytes, keccak256 } from "viem";

/** The hashes of a tree's levels, leaves first; each level is its 32-byte nodes end to end. */
export type TreeLayers = readonly Uint8Array<ArrayBuffer>[];

/** Up to here a tree takes less than a third of a second; larger ones would hold up other requests. */
const maxOnThisThread = 5_000;

let last: Promise<unknown> = Promise.resolve();

/** The layers of the tree over these wallets, built beside the event loop when there are many. */
export async function buildLayers(wallets: readonly string[]): Promise<TreeLayers> {
  if (wallets.length <= maxOnThisThread) return hashLayers(wallets);
  // One at a time: a second thread would only take the core that answers requests.
  const turn = last.then(() => buildElsewhere(wallets));
  last = turn.catch(() => undefined);
  return await turn;
}

/**
 * Leaf = keccak256 of the 20 bytes; pairs sorted as in OpenZeppelin `MerkleProof`; an odd node moves
 * up unchanged.
 *
 * @param wallets lower-case addresses without repeats.
 */
export function hashLayers(wallets: readonly string[]): TreeLayers {
  const leaves = wallets.map((wallet) => Buffer.from(keccak256(hexToBytes(wallet as Hex), "bytes")));
  const hash = (data: Buffer) => Buffer.from(keccak256(data, "bytes"));
  const tree = new MerkleTree(leaves, hash, { sortPairs: true });
  return tree.getLayers().map((layer) => {
    const bytes = new Uint8Array(32 * layer.length);
    for (const [index, node] of layer.entries()) bytes.set(node, 32 * index);
    return bytes;
  });
}

async function buildElsewhere(wallets: readonly string[]): Promise<TreeLayers> {
  const worker = new Worker(new URL("./allowlist-thread.ts", import.meta.url), { workerData: wallets });
  try {
    return await new Promise<TreeLayers>((done, failed) => {
      worker.once("message", done);
      worker.once("error", failed);
      worker.once("exit", (code) => failed(new Error(`the thread that builds trees ended with code ${code}`)));
    });
  } finally {
    await worker.terminate();
  }
}
