import type { Kysely } from "kysely";
import { LRUCache } from "lru-cache";
import type { CID } from "multiformats/cid";
import { byteBound } from "../cache-bounds.ts";
import type { Database } from "../db/database.ts";
import { ServiceError } from "../errors/errors.ts";
import { identity, isBlockOf, keyOf, sha256 } from "./block-hash.ts";
import { type CarStorage, StoreAway } from "./car-storage.ts";
import { type BlockAddress, findBlocks } from "./content-index.ts";
import { countForMinorGc } from "./minor-gc.ts";

/** Size of the cache of blocks that matched their hash. Large blocks are left out: they would evict all others. */
const cacheBytes = 16_777_216;
const largestCachedBlock = 262_144;

/** Reads blocks out of the CARs by offset. A block that it returns matches its CID; otherwise it throws. */
export class BlockReader {
  readonly #db: Kysely<Database>;
  readonly #cars: CarStorage;
  readonly #cache = new LRUCache<string, Uint8Array>(byteBound(cacheBytes));

  constructor(db: Kysely<Database>, cars: CarStorage) {
    this.#db = db;
    this.#cars = cars;
  }

  /** @returns the size of a stored block, null for one that is not stored. */
  async size(cid: CID): Promise<number | null> {
    if (cid.multihash.code === identity) return cid.multihash.digest.length;
    return (await this.#find(cid))[0]?.size ?? null;
  }

  /**
   * @returns null for a block that is not stored. The bytes are shared: never write into them.
   * @throws ServiceError `service_unavailable` for a stored block that cannot be read or was damaged.
   */
  async get(cid: CID): Promise<Uint8Array | null> {
    return await this.#get(cid, () => this.#find(cid));
  }

  /**
   * Like `get`, for a walk that knows which blocks come next: it looks up many of them in one statement.
   *
   * @returns a reader; its `next` gives the blocks that come after the one being read, the nearest last.
   */
  walking(): (cid: CID, next: () => readonly CID[]) => Promise<Uint8Array | null> {
    const known = new Map<string, BlockAddress[]>();
    const look = async (cid: CID, next: () => readonly CID[]) => {
      const wanted = [cid, ...next()].filter(({ multihash }) => multihash.code === sha256);
      const found = await findBlocks(
        this.#db,
        wanted.map(({ multihash }) => multihash.bytes),
      );
      // Later blocks are looked up when the walk gets there.
      known.clear();
      for (const [at, { multihash }] of wanted.entries()) known.set(keyOf(multihash.digest), found[at] ?? []);
    };
    return async (cid, next) =>
      await this.#get(cid, async () => {
        const key = keyOf(cid.multihash.digest);
        if (!known.has(key)) await look(cid, next);
        return known.get(key) ?? [];
      });
  }

  async #get(cid: CID, find: () => Promise<BlockAddress[]>): Promise<Uint8Array | null> {
    if (cid.multihash.code === identity) return cid.multihash.digest;
    if (cid.multihash.code !== sha256) return null;
    const key = keyOf(cid.multihash.digest);
    const cached = this.#cache.get(key);
    if (cached) return cached;
    const bytes = await this.#readFirst(cid, await find());
    if (bytes && bytes.length <= largestCachedBlock) this.#cache.set(key, bytes);
    return bytes;
  }

  async #find({ multihash }: CID): Promise<BlockAddress[]> {
    const [found = []] = await findBlocks(this.#db, [multihash.bytes]);
    return found;
  }

  async #readFirst(cid: CID, addresses: readonly BlockAddress[]): Promise<Uint8Array | null> {
    if (addresses.length === 0) return null;
    let cause: unknown;
    for (const address of addresses) {
      try {
        return await this.#read(address, cid);
      } catch (error) {
        cause = error;
      }
    }
    if (cause instanceof StoreAway) throw cause;
    throw new ServiceError("service_unavailable", `a block of ${cid} cannot be read from the store`, { cause });
  }

  async #read({ file, position, size }: BlockAddress, cid: CID): Promise<Uint8Array> {
    if (size > largestCachedBlock) countForMinorGc(size);
    const bytes = await this.#cars.read(file, position, size);
    if (bytes && isBlockOf(cid, bytes)) return bytes;
    // The copy on this machine may be wrong while the store is right.
    const fresh = this.#cars.keepsCopies ? await this.#cars.read(file, position, size, true) : bytes;
    if (!fresh) throw new Error(`CAR ${file} ends before byte ${position + size}`);
    if (!isBlockOf(cid, fresh)) throw new Error(`CAR ${file} is damaged`);
    return fresh;
  }
}

/** Reads blocks, checked against their hash; null for a missing block. */
export type BlockSource = Pick<BlockReader, "get">;

export class MissingBlock extends ServiceError {
  constructor(cid: CID) {
    super("not_found", `block ${cid} is not here`);
  }
}

/** The block store that the exporter reads from. */
export function storageOf(blocks: BlockSource) {
  return {
    async *get(cid: CID) {
      const block = await blocks.get(cid);
      if (!block) throw new MissingBlock(cid);
      yield block;
    },
  };
}
