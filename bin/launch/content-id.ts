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
  /** What the service has to answer: the profile `unixfs-v1-2025` (IPIP-499), computed here. */
  cid: string;
}

const sha256Code = 0x12;
/** A file up to this size is one raw block, whose CID is the hash of its bytes. */
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
 * Reads files and computes what identifies their content. One at a time: a buffer of one chunk serves them all, because ten
 * thousand buffers would be gone only when the collector sees a reason.
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

  /** The same of a text that is one chunk at most. */
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
        // The importer keeps what it is given until its block is whole.
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
