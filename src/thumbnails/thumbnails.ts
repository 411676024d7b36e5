import { LRUCache } from "lru-cache";
import { entryBound } from "../cache-bounds.ts";
import { FairQueue } from "../fair-queue.ts";
import { causeOf } from "../telemetry/log-once.ts";
import { mostPictureBytes, type ThumbnailWidth } from "./bounds.ts";
import { type Made, PictureMaker } from "./picture-maker.ts";
import { type CacheSettings, ThumbnailCache } from "./thumbnail-cache.ts";

/** A file that never changes. */
export interface Picture {
  /** Identifies its bytes: its CID, or a digest. */
  id: string;
  size: number;
  stream(): AsyncIterable<Uint8Array>;
}

/**
 * `bytes`: WebP. `refused`: why no preview is made of this picture. `busy`: not now, because others wait, because it
 * takes long, or because previews are off.
 */
export type Thumbnail = { bytes: Buffer } | { refused: string } | "busy";

/** Increase it when previews change: those of another version are made again. */
export const thumbnailVersion = 1;

/** Pictures in memory: one being decoded, and the next one being read. */
const atOnce = 2;
/** Pictures that may wait: in all, and of one client. */
const [mostWaiting, mostOfOne] = [256, 64];
/** How long a request waits. */
const usualWaitMs = 5_000;
/** The most time for reading a picture; the sources have limits of their own for each part. */
const readMs = 10_000;
const [refusedMs, refusedForNowMs] = [86_400_000, 300_000];

/** Previews of pictures: from the cache, or made once for all concurrent callers by a separate process. */
export class Thumbnails {
  readonly #cache: ThumbnailCache | null;
  readonly #maker = new PictureMaker();
  readonly #settings: CacheSettings;
  readonly #making = new Map<string, Promise<Thumbnail>>();
  readonly #refused = new LRUCache<string, string>(entryBound(10_000));
  readonly #waiting = new FairQueue<() => Promise<void>>(mostWaiting, mostOfOne);
  #running = 0;
  #madeCount = 0;

  /** @param settings `mostBytes` 0: no previews are made. */
  constructor(settings: CacheSettings) {
    this.#settings = settings;
    this.#cache = settings.mostBytes > 0 ? new ThumbnailCache(settings) : null;
  }

  /** Whether previews are switched off. */
  get areOff(): boolean {
    return this.#cache === null;
  }

  /** Number of previews that were made for this process. */
  get made(): number {
    return this.#madeCount;
  }

  /** Id of the process that makes them; undefined while there is none. */
  get pid(): number | undefined {
    return this.#maker.pid;
  }

  /** A cached preview or a known refusal; null where a preview has to be made. */
  async find(id: string, width: ThumbnailWidth): Promise<Thumbnail | null> {
    if (!this.#cache) return "busy";
    const refused = this.#refused.get(id);
    if (refused !== undefined) return { refused };
    const bytes = await this.#cache.get(keyOf(id, width));
    return bytes && { bytes };
  }

  /** The last text that `note` stored under this name, as long as it is cached; otherwise null. */
  async noted(name: string): Promise<Buffer | null> {
    return (await this.#cache?.get(name)) ?? null;
  }

  /** Stores a short text in the cache. Never fails. */
  async note(name: string, text: string): Promise<void> {
    await this.#cache?.put(name, Buffer.from(text));
  }

  /**
   * Makes a preview that `find` does not have, once for all concurrent callers. After five seconds the result is
   * "busy", but the preview is still made.
   *
   * @param client the client that asks; clients take turns.
   * @throws what reading the picture throws.
   */
  async make(picture: Picture, width: ThumbnailWidth, client: string): Promise<Thumbnail> {
    return await soonEnough(this.makeInTime(picture, width, client), usualWaitMs);
  }

  /** As `make`, but waits however long it takes: for callers that have the picture in memory until then. */
  async makeInTime(picture: Picture, width: ThumbnailWidth, client: string): Promise<Thumbnail> {
    const key = keyOf(picture.id, width);
    return await (this.#making.get(key) ?? this.#enqueue(key, picture, width, client));
  }

  close(): void {
    this.#maker.close();
  }

  #enqueue(key: string, picture: Picture, width: ThumbnailWidth, client: string): Promise<Thumbnail> {
    const { promise, resolve, reject } = Promise.withResolvers<Thumbnail>();
    const work = async () => await this.#makeNow(key, picture, width).then(resolve, reject);
    if (!this.#waiting.push(client, work)) return Promise.resolve("busy");
    this.#making.set(key, promise);
    const forget = () => this.#making.delete(key);
    promise.then(forget, forget);
    this.#next();
    return promise;
  }

  #next(): void {
    if (this.#running >= atOnce) return;
    const work = this.#waiting.shift();
    if (!work) return;
    this.#running += 1;
    void work().finally(() => {
      this.#running -= 1;
      this.#next();
    });
  }

  async #makeNow(key: string, picture: Picture, width: ThumbnailWidth): Promise<Thumbnail> {
    const made = await this.#tryToMake(picture, width);
    if (made === "busy") return made;
    if ("refused" in made) {
      this.#refused.set(picture.id, made.refused, { ttl: made.forNow ? refusedForNowMs : refusedMs });
      return { refused: made.refused };
    }
    this.#madeCount += 1;
    await this.#cache?.put(key, made.bytes);
    return made;
  }

  async #tryToMake(picture: Picture, width: ThumbnailWidth): Promise<Made | "busy"> {
    if (picture.size > mostPictureBytes)
      return { refused: `it has ${picture.size} bytes; up to ${mostPictureBytes} are read`, forNow: false };
    const bytes = await readWithin(picture.stream());
    if (!bytes) return { refused: "reading it took too long", forNow: true };
    try {
      return await this.#maker.make(bytes, width);
    } catch (err) {
      this.#settings.logOnce.write("error", `thumbnails ${causeOf(err)}`, { err }, "no previews are made");
      return "busy";
    }
  }
}

function keyOf(id: string, width: ThumbnailWidth): string {
  return `${thumbnailVersion} ${width} ${id}`;
}

/** @returns null if it was not read in time. */
async function readWithin(stream: AsyncIterable<Uint8Array>): Promise<Buffer | null> {
  const pieces: Uint8Array[] = [];
  const iterator = stream[Symbol.asyncIterator]();
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const limit = setTimeout(() => resolve(null), readMs);
  try {
    for (;;) {
      const step = await Promise.race([iterator.next(), late]);
      if (step?.done) return Buffer.concat(pieces);
      if (step) {
        pieces.push(step.value);
        continue;
      }
      // This only takes effect once the source yields again.
      void iterator.return?.().catch(() => undefined);
      return null;
    }
  } finally {
    clearTimeout(limit);
  }
}

/** @returns "busy" if it was not made in time. */
export async function soonEnough<T>(making: Promise<T>, waitMs: number): Promise<T | "busy"> {
  const { promise, resolve } = Promise.withResolvers<"busy">();
  const limit = setTimeout(() => resolve("busy"), waitMs);
  return await Promise.race([making, promise]).finally(() => clearTimeout(limit));
}
