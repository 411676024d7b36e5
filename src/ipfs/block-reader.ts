import { hash } from "node:crypto";
import type { Kysely } from "kysely";
import type { CID } from "multiformats/cid";
import type { Database } from "../db/database.ts";
import { ServiceError } from "../errors.ts";
import { type BlockAddress, findBlock } from "./content-index.ts";
import { OpenFiles } from "./open-files.ts";

const sha256 = 0x12;

/** Reads blocks out of the CAR files by offset. What it returns is what the CID says, or it throws. */
export class BlockReader {
  readonly #db: Kysely<Database>;
  readonly #carPath: (file: string) => string;
  readonly #files = new OpenFiles(64);

  constructor(db: Kysely<Database>, carPath: (file: string) => string) {
    this.#db = db;
    this.#carPath = carPath;
  }

  /** @returns the size of a block we hold, null for one we do not. */
  async size(cid: CID): Promise<number | null> {
    return (await findBlock(this.#db, cid.multihash.bytes))[0]?.size ?? null;
  }

  /**
   * @returns null for a block we do not hold.
   * @throws ServiceError `service_unavailable` for one that we hold but cannot read or that was damaged.
   */
  async get(cid: CID): Promise<Uint8Array | null> {
    if (cid.multihash.code !== sha256) return null;
    const places = await findBlock(this.#db, cid.multihash.bytes);
    if (places.length === 0) return null;
    let cause: unknown;
    for (const place of places) {
      try {
        return await this.#read(place, cid);
      } catch (error) {
        cause = error;
      }
    }
    throw new ServiceError("service_unavailable", `a block of ${cid} cannot be read from the store`, { cause });
  }

  async #read({ file, position, size }: BlockAddress, cid: CID): Promise<Uint8Array> {
    const bytes = Buffer.allocUnsafe(size);
    await this.#files.use(this.#carPath(file), async (handle) => {
      for (let done = 0; done < size; ) {
        const { bytesRead } = await handle.read(bytes, done, size - done, position + done);
        if (bytesRead === 0) throw new Error(`CAR ${file} ends before byte ${position + size}`);
        done += bytesRead;
      }
    });
    if (!hash("sha256", bytes, "buffer").equals(cid.multihash.digest)) throw new Error(`CAR ${file} is damaged`);
    return bytes;
  }

  async close(): Promise<void> {
    await this.#files.close();
  }
}
