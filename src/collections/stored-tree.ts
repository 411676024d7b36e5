import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { MerkleTree } from "merkletreejs";
import { type Hex, hexToBytes, keccak256 } from "viem";
import type { LongWork } from "../long-work.ts";
import { Slots } from "../slots.ts";

/** A tree in its stored form (migration 0190 reads it). */
export interface StoredTree {
  /** Every level, leaves first, 32 bytes per node; a level has half the nodes of the one below it, rounded up. */
  nodes: Uint8Array<ArrayBuffer>;
  /** Address (20 bytes) and position of its leaf (4 bytes, big-endian), sorted by address. */
  members: Uint8Array<ArrayBuffer>;
}

/** A tree up to this size takes some milliseconds; a larger one would hold up other requests. */
const maxOnThisThread = 50;
/** An idle thread ends: starting one costs as much as a tree of some thousand wallets, but it keeps memory. */
const idleMs = 10_000;
const [addressBytes, memberBytes] = [20, 24];

/** Trees are built one at a time in a single thread: a second one would only take the core that answers requests. */
const turns = new Slots(1);
let thread: Worker | null = null;
let ending: NodeJS.Timeout | undefined;

/**
 * The tree of these wallets, built in a thread unless there are few.
 *
 * @param wallets lower-case addresses without repeats.
 */
export async function growTree(wallets: readonly string[], work: LongWork): Promise<StoredTree> {
  if (wallets.length <= maxOnThisThread) return hashTree(wallets);
  const addresses = Buffer.alloc(addressBytes * wallets.length);
  for (const [index, wallet] of wallets.entries()) {
    if (work.isOver) await work.rest();
    addresses.write(wallet.slice(2), addressBytes * index, "hex");
  }
  return await turns.run(
    async () => {
      clearTimeout(ending);
      try {
        return await growElsewhere(addresses);
      } finally {
        if (turns.waiting === 0) ending = setTimeout(endThread, idleMs).unref();
      }
    },
    { account: work.account },
  );
}

/** Decodes the addresses sent to the thread, 20 bytes each, to the spelling that `hashTree` takes. */
export function walletsOf(addresses: Uint8Array): string[] {
  const hex = Buffer.from(addresses.buffer, addresses.byteOffset, addresses.length).toString("hex");
  const digits = 2 * addressBytes;
  return Array.from(
    { length: hex.length / digits },
    (_, index) => `0x${hex.slice(digits * index, digits * (index + 1))}`,
  );
}

/**
 * Leaf = keccak256 of the 20 bytes; pairs sorted as in OpenZeppelin `MerkleProof`; an odd node moves up unchanged.
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

async function growElsewhere(addresses: Buffer<ArrayBuffer>): Promise<StoredTree> {
  const worker = thread ?? new Worker(new URL("./allowlist-thread.ts", import.meta.url));
  thread = worker;
  worker.ref();
  const listening = new AbortController();
  const { signal } = listening;
  try {
    worker.postMessage(addresses, [addresses.buffer]);
    const ended = once(worker, "exit", { signal }).then(([code]) => {
      throw new Error(`the thread that builds trees ended with code ${code}`);
    });
    // An error of the thread rejects both.
    const [tree] = await Promise.race([once(worker, "message", { signal }), ended]);
    return tree;
  } catch (error) {
    endThread();
    throw error;
  } finally {
    listening.abort();
    worker.unref();
  }
}

function endThread(): void {
  void thread?.terminate();
  thread = null;
}
