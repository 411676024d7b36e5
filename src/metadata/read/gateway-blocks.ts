import { exporter } from "ipfs-unixfs-exporter";
import { LRUCache } from "lru-cache";
import { CID } from "multiformats/cid";
import { identity } from "multiformats/hashes/identity";
import { sha256 } from "multiformats/hashes/sha2";
import { byteBound } from "../../cache-bounds.ts";
import { type Fault, isFault } from "../../outbound/fault.ts";
import { type Fetched, type Fetcher, readCapped } from "../../outbound/fetcher.ts";
import type { IpfsLocation } from "./ipfs-location.ts";

const dagPbCodec = 0x70;
/** The largest block that IPFS nodes pass on. */
const maxBlockBytes = 2_097_152;
const maxBlocks = 64;
const cacheBytes = 16_777_216;

export interface Gateway {
  /** URL up to `/ipfs`, without a slash at the end. */
  base: string;
  /** Query of every request, as `?token=…`; may be empty. */
  search: string;
  trusted: boolean;
}

/**
 * Reads content from gateways block by block and checks each block against its hash, from the root CID in the
 * contract's URI down to the file: a gateway cannot change a byte.
 */
export class GatewayBlocks {
  readonly #fetcher: Fetcher;
  /** Blocks of directories, which thousands of tokens share. */
  readonly #cache = new LRUCache<string, Uint8Array>(byteBound(cacheBytes));

  constructor(fetcher: Fetcher) {
    this.#fetcher = fetcher;
  }

  /** @throws Busy */
  async read(
    { cid, path }: IpfsLocation,
    gateway: Gateway,
    signal: AbortSignal,
    fetcher = this.#fetcher,
  ): Promise<Fetched | Fault> {
    let blocks = 0;
    const get = async (wanted: CID): Promise<Uint8Array> => {
      blocks += 1;
      if (blocks > maxBlocks) throw new BlockFault({ fault: "too_large" });
      return await this.#block(wanted, gateway, signal, fetcher);
    };
    const storage = {
      async *get(wanted: CID) {
        yield await get(wanted);
      },
    };
    try {
      const root = CID.parse(cid);
      const node = await exporter(path.length === 0 ? root : `${cid}/${path.join("/")}`, storage);
      if (node.type === "directory") return { fault: "ipfs_is_directory" };
      if (node.type !== "file" && node.type !== "raw" && node.type !== "identity") return { fault: "ipfs_not_found" };
      return await readCapped(node.content({ blockReadConcurrency: 1 }));
    } catch (error) {
      const cause = blockFault(error);
      if (cause) return cause.fault;
      if (error instanceof Error && error.name === "NotFoundError") return { fault: "ipfs_not_found" };
      if (error instanceof Error && error.name === "Busy") throw error;
      // The blocks match the CID, but are no file tree.
      return { fault: "ipfs_not_found" };
    }
  }

  async #block(cid: CID, gateway: Gateway, signal: AbortSignal, fetcher: Fetcher): Promise<Uint8Array> {
    if (cid.multihash.code === identity.code) return cid.multihash.digest;
    if (cid.multihash.code !== sha256.code) throw new BlockFault({ fault: "uri_unsupported" });
    const key = cid.toV1().toString();
    const known = this.#cache.get(key);
    if (known) return known;
    const url = `${gateway.base}/${key}${gateway.search === "" ? "?" : `${gateway.search}&`}format=raw`;
    const answer = await fetcher.fetch(url, { trusted: gateway.trusted, signal, maxBytes: maxBlockBytes });
    if (isFault(answer)) throw new BlockFault(answer);
    const { digest } = await sha256.digest(answer.bytes);
    if (!Buffer.from(digest).equals(Buffer.from(cid.multihash.digest))) throw new BlockFault({ fault: "cid_mismatch" });
    if (cid.code === dagPbCodec) this.#cache.set(key, answer.bytes);
    return answer.bytes;
  }
}

class BlockFault extends Error {
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(fault.fault);
    this.fault = fault;
  }
}

function blockFault(error: unknown): BlockFault | null {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1)
    if (at instanceof BlockFault) return at;
  return null;
}
