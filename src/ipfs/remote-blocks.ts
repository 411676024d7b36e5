import { LRUCache } from "lru-cache";
import type { CID } from "multiformats/cid";
import { byteBound, entryBound } from "../cache-bounds.ts";
import { ServiceError } from "../errors/errors.ts";
import { isFault } from "../outbound/fault.ts";
import type { Fetcher } from "../outbound/fetcher.ts";
import { Busy } from "../outbound/host-limits.ts";
import { isBlockOf, sha256 } from "./block-hash.ts";
import type { BlockSource } from "./block-reader.ts";

/** The largest block that IPFS nodes pass on. */
const largestBlock = 2_097_152;
const cacheBytes = 33_554_432;
/** How long a block counts as unavailable. */
const missingMs = 60_000;
/** A sharded directory of a million names needs far fewer; a malicious endless chain of blocks does not end. */
const blocksPerRequest = 1_024;
/** The most that third parties' content may make one process load. */
const bytesPerMinute = 268_435_456;

export interface RemoteSettings {
  /** Base URLs up to `/ipfs`, from the operator, best first. */
  gateways: readonly string[];
  fetcher: Fetcher;
  /** The most bytes that one request of a client may load. */
  requestBytes: number;
}

/** Blocks of other people's content, from the operator's gateways and checked against their hash; nothing is stored. */
export class RemoteBlocks {
  readonly #settings: RemoteSettings;
  readonly #known = new LRUCache<string, Uint8Array>(byteBound(cacheBytes));
  readonly #missing = new LRUCache<string, true>({ ...entryBound(10_000), ttl: missingMs });
  #minute = 0;
  #bytesOfMinute = 0;

  constructor(settings: RemoteSettings) {
    this.#settings = settings;
  }

  /**
   * The block source of one request: this installation's blocks, then the gateways, within the bounds of a request.
   *
   * @throws ServiceError, from `get`: `file_too_large`, `service_unavailable` when too much is being loaded.
   */
  beside(local: BlockSource): BlockSource {
    let blocks = 0;
    let bytes = 0;
    return {
      get: async (cid) => {
        const own = await local.get(cid);
        if (own || cid.multihash.code !== sha256) return own;
        blocks += 1;
        if (blocks > blocksPerRequest) throw this.#tooLarge();
        this.refuseOver(bytes);
        const found = await this.#get(cid);
        bytes += found?.length ?? 0;
        return found;
      },
    };
  }

  /** @throws ServiceError `file_too_large` for an answer that would be cut off. */
  refuseOver(bytes: number): void {
    if (bytes > this.#settings.requestBytes) throw this.#tooLarge();
  }

  #tooLarge(): ServiceError {
    const { requestBytes } = this.#settings;
    const most = `${requestBytes} bytes in ${blocksPerRequest} blocks`;
    return new ServiceError("file_too_large", `content of others is passed on up to ${most}`);
  }

  async close(): Promise<void> {
    await this.#settings.fetcher.close();
  }

  async #get(cid: CID): Promise<Uint8Array | null> {
    const key = cid.toV1().toString();
    const known = this.#known.get(key);
    if (known || this.#missing.get(key)) return known ?? null;
    for (const base of this.#settings.gateways) {
      const bytes = await this.#fetch(`${base.replace(/\/+$/, "")}/${key}?format=raw`);
      if (!bytes || !isBlockOf(cid, bytes)) continue;
      this.#known.set(key, bytes);
      return bytes;
    }
    this.#missing.set(key, true);
    return null;
  }

  async #fetch(url: string): Promise<Uint8Array | null> {
    const minute = Math.floor(performance.now() / 60_000);
    if (minute !== this.#minute) this.#bytesOfMinute = 0;
    this.#minute = minute;
    if (this.#bytesOfMinute > bytesPerMinute) throw busy(60 - Math.floor((performance.now() / 1_000) % 60));
    try {
      const answer = await this.#settings.fetcher.fetch(url, { trusted: true, maxBytes: largestBlock });
      if (isFault(answer)) return null;
      this.#bytesOfMinute += answer.bytes.length;
      return answer.bytes;
    } catch (error) {
      if (error instanceof Busy) throw busy(2);
      throw error;
    }
  }
}

function busy(retryAfterSeconds: number): ServiceError {
  return new ServiceError("service_unavailable", "too much content of others is being fetched; try again", {
    retryAfterSeconds,
  });
}
