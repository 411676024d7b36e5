import { Worker } from "node:worker_threads";
import { MerkleTree } from "merkletreejs";
import { type Hex, hexToBytes, keccak256 } from "viem";

/** A tree as it is stored (migration 0190 reads it). */
export interface StoredTree {
  /** Every level, leaves first, 32 bytes a node; a level has half the nodes of the one below it, rounded up. */
  nodes: Uint8Array<ArrayBuffer>;
  /** Address (20 bytes) and position of its leaf (4 bytes, big-endian), in the order of the addresses. */
  members: Uint8Array<ArrayBuffer>;
}

/** Up to here a tree takes less than a third of a second; larger ones would hold up other requests. */
const maxOnThisThread = 5_000;
const memberBytes = 24;

let last: Promise<unknown> = Promise.resolve();

/** The tree over these wallets, built beside the event loop when there are many. */
export async function growTree(wallets: readonly string[]): Promise<StoredTree> {
  if (wallets.length <= maxOnThisThread) return hashTree(wallets);
  // One at a time: a second thread would only take the core that answers requests.
  const turn = last.then(() => growElsewhere(wallets));
  last = turn.catch(() => undefined);
  return await turn;
}

/**
 * Leaf = keccak256 of the 20 bytes; pairs sorted as in OpenZeppelin `MerkleProof`; an odd node moves
 * up unchanged.
 *
 * @param wallets lower-case addresses without repeats.
 */
export function hashTree(wallets: readonly string[]): StoredTree {
  const leaves = wallets.map((wallet) => Buffer.from(keccak256(hexToBytes(wallet as Hex), "bytes")));
  const hash = (data: Buffer) => Buffer.from(keccak256(data, "bytes"));
  const all = new MerkleTree(leaves, hash, { sortPairs: true }).getLayers().flat();
  const nodes = new Uint8Array(32 * all.length);
  for (const [index, node] of all.entries()) nodes.set(node, 32 * index);
  return { nodes, members: sortMembers(wallets) };
}

function sortMembers(wallets: readonly string[]): Uint8Array<ArrayBuffer> {
  const sorted = [...wallets.entries()].sort(([, one], [, other]) => (one < other ? -1 : 1));
  const members = new Uint8Array(memberBytes * sorted.length);
  const view = new DataView(members.buffer);
  for (const [rank, [position, wallet]] of sorted.entries()) {
    members.set(hexToBytes(wallet as Hex), memberBytes * rank);
    view.setUint32(memberBytes * rank + 20, position);
  }
  return members;
}

async function growElsewhere(wallets: readonly string[]): Promise<StoredTree> {
  const worker = new Worker(new URL("./allowlist-thread.ts", import.meta.url), { workerData: wallets });
  try {
    return await new Promise<StoredTree>((done, failed) => {
      worker.once("message", done);
      worker.once("error", failed);
      worker.once("exit", (code) => failed(new Error(`the thread that builds trees ended with code ${code}`)));
    });
  } finally {
    await worker.terminate();
  }
}
