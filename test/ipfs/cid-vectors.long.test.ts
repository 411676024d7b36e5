import { createCipheriv, createHash } from "node:crypto";
import type { CID } from "multiformats/cid";
import { describe, expect, test } from "vitest";
import { type Imported, importDirectory, importFile, type NewDirectoryFile } from "../../src/ipfs/import-content.ts";
import { slowness } from "../setup/wait.ts";
import { cidText, directoryNode, fileNode } from "./second-unixfs.ts";

/** Where the blocks go does not matter here. */
const nowhere = { put: async (cid: CID) => cid };

/** The stream of bytes that kubo's own profile tests are made from: ChaCha20 under the hash of a seed. */
function seeded(length: number, seed: string): Buffer {
  const key = createHash("sha256").update(seed).digest();
  return createCipheriv("chacha20", key, Buffer.alloc(16)).update(Buffer.alloc(length));
}

/** The same, a mebibyte at a time. */
async function* seededStream(length: number, seed: string): AsyncGenerator<Uint8Array> {
  const noise = createCipheriv("chacha20", createHash("sha256").update(seed).digest(), Buffer.alloc(16));
  const zeros = Buffer.alloc(1_048_576);
  for (let left = length; left > 0; left -= zeros.length) yield noise.update(zeros.subarray(0, left));
}

async function* pieces(bytes: Uint8Array, size = 100_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function ourFile(bytes: Uint8Array): Promise<string> {
  return String((await importFile({ stream: pieces(bytes) }, nowhere)).root);
}

async function ourDirectory(files: ReadonlyMap<string, Uint8Array>): Promise<Imported> {
  async function* entries(): AsyncGenerator<NewDirectoryFile> {
    for (const [name, bytes] of files) yield { names: [name], bytes, contentType: "text/plain" };
  }
  return await importDirectory(entries(), nowhere);
}

function second(files: ReadonlyMap<string, Uint8Array>): string {
  return cidText(directoryNode(new Map([...files].map(([name, bytes]) => [name, fileNode(bytes)]))).cid);
}

describe("CIDs that kubo publishes for unixfs-v1-2025", () => {
  test.each([
    ["hello world", Buffer.from("hello world"), "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"],
    ["1 MiB", seeded(1_048_576, "chunk-v1-seed"), "bafkreiacndfy443ter6qr2tmbbdhadvxxheowwf75s6zehscklu6ezxmta"],
    ["1 MiB + 1", seeded(1_048_577, "chunk-v1-seed"), "bafybeigmix7t42i6jacydtquhet7srwvgpizfg7gjbq7627d35mjomtu64"],
  ])("a file of %s", async (_size, bytes, cid) => {
    expect(await ourFile(bytes)).toBe(cid);
    expect(cidText(fileNode(bytes).cid)).toBe(cid);
  });

  // 1,024 chunks have one parent, a byte more makes a level above it.
  test.each([
    ["1,024 chunks", 1_073_741_824, "bafybeihmf37wcuvtx4hpu7he5zl5qaf2ineo2lqlfrapokkm5zzw7zyhvm"],
    ["1,024 chunks and a byte", 1_073_741_825, "bafybeibdsi225ugbkmpbdohnxioyab6jsqrmkts3twhpvfnzp77xtzpyhe"],
  ])("a file of %s", { timeout: 300_000 * slowness }, async (_what, size, cid) => {
    const stream = seededStream(size, "v1-2025-seed");
    expect(String((await importFile({ stream }, nowhere)).root)).toBe(cid);
  });

  // One block of exactly 262,144 bytes, and one of a byte more: the last name is longer by one.
  test.each([
    ["at the threshold is one block", 21, "bafybeic3h7rwruealwxkacabdy45jivq2crwz6bufb5ljwupn36gicplx4"],
    ["a byte over it is sharded", 22, "bafybeiegvuterwurhdtkikfhbxcldohmxp566vpjdofhzmnhv6o4freidu"],
  ])("a directory %s", async (_what, lastLength, cid) => {
    const letters = "abcdefghijklmnopqrstuvwxyz01234567890-_";
    const stream = seeded(1_048_576, "hamt-unixfs-v1-2025");
    const files = new Map<string, Uint8Array>();
    for (let file = 0; file < 4_766; file += 1) {
      const name = stream.subarray(file * 11, file * 11 + (file === 4_765 ? lastLength : 11));
      files.set([...name].map((byte) => letters[byte % letters.length]).join(""), Buffer.from("x"));
    }
    expect(String((await ourDirectory(files)).root)).toBe(cid);
    expect(second(files)).toBe(cid);
  });
});

describe("CIDs of a second implementation of UnixFS", () => {
  test.each([0, 1, 64, 1_048_575, 2_097_152, 5_000_001])("a file of %i bytes", async (size) => {
    const bytes = seeded(size, `file ${size}`);
    expect(await ourFile(bytes)).toBe(cidText(fileNode(bytes).cid));
  });

  test.each([1, 100, 2_500, 2_600, 10_000])(
    "a metadata directory of %i tokens, each under two names",
    async (count) => {
      const files = new Map<string, Uint8Array>();
      for (let id = 0; id < count; id += 1) {
        const bytes = Buffer.from(`{"name":"Token ${id}","image":"ipfs://images/${id}.png"}`);
        files.set(String(id), bytes).set(`${id}.json`, bytes);
      }
      expect(String((await ourDirectory(files)).root)).toBe(second(files));
    },
  );

  test("names outside of ASCII and files of several chunks in one directory", async () => {
    const files = new Map<string, Uint8Array>(
      ["ä", "z", "\u{1f600}", "\uffee", "a b", "%"].map((name) => [name, seeded(40, name)]),
    );
    files.set("large", seeded(3_000_000, "large"));
    expect(String((await ourDirectory(files)).root)).toBe(second(files));
  });
});
