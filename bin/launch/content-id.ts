import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { importer } from "ipfs-unixfs-importer";
import { fixedSize } from "ipfs-unixfs-importer/chunker";
import { balanced } from "ipfs-unixfs-importer/layout";
import { CID } from "multiformats/cid";
import { code as raw } from "multiformats/codecs/raw";
import { create as createDigest } from "multiformats/hashes/digest";

export interface ContentId {
  /** Hex digest of the whole file. */
  sha256: string;
  sizeBytes: number;
  /** The CID that the service has to answer with: profile `unixfs-v1-2025` (IPIP-499), computed here. */
  cid: string;
}

const sha256Code = 0x12;
/** A file up to this size is one raw block, and its CID is the hash of its bytes. */
const chunkSize = 1_048_576;
const importerOptions = {
  cidVersion: 1,
  rawLeaves: true,
  reduceSingleLeafToSelf: true,
  chunker: fixedSize({ chunkSize }),
  layout: balanced({ maxChildrenPerNode: 1_024 }),
  fileImportConcurrency: 1,
  blockWriteConcurrency: 1,
} as const;
const dropBlocks = { put: async (cid: CID) => cid };

/**
 * Reads files and computes the hashes that identify their content. One file at a time, with one buffer of a chunk for
 * all: ten thousand buffers would stay until the garbage collector sees a reason to run.
 */
export class ContentReader {
  readonly #chunk = Buffer.allocUnsafeSlow(chunkSize);

  async read(path: string): Promise<ContentId> {
    const file = await open(path);
    try {
      const { size } = await file.stat();
      return size <= chunkSize ? await this.#readSmall(file) : await this.#readLarge(file, path);
    } finally {
      await file.close();
    }
  }

  /** The same for a text of one chunk at most. */
  ofText(text: string): string {
    return cidOf(createHash("sha256").update(text).digest());
  }

  async #readSmall(file: FileHandle): Promise<ContentId> {
    let sizeBytes = 0;
    for (let read = -1; read !== 0; sizeBytes += read)
      ({ bytesRead: read } = await file.read(this.#chunk, sizeBytes, chunkSize - sizeBytes, sizeBytes));
    const digest = createHash("sha256").update(this.#chunk.subarray(0, sizeBytes)).digest();
    return { sha256: digest.toString("hex"), sizeBytes, cid: cidOf(digest) };
  }

  async #readLarge(file: FileHandle, path: string): Promise<ContentId> {
    const hash = createHash("sha256");
    let sizeBytes = 0;
    const chunk = this.#chunk;
    async function* content() {
      for (;;) {
        const { bytesRead } = await file.read(chunk, 0, chunkSize, sizeBytes);
        if (bytesRead === 0) return;
        hash.update(chunk.subarray(0, bytesRead));
        sizeBytes += bytesRead;
        // The importer keeps each chunk until its block is complete.
        yield Buffer.from(chunk.subarray(0, bytesRead));
      }
    }
    let root: CID | undefined;
    for await (const { cid } of importer([{ content: content() }], dropBlocks, importerOptions)) root = cid;
    if (!root) throw new Error(`${path} has no content id`);
    return { sha256: hash.digest("hex"), sizeBytes, cid: root.toString() };
  }
}

function cidOf(digest: Uint8Array): string {
  return CID.createV1(raw, createDigest(sha256Code, digest)).toString();
}

export function sha256Of(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
