import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { entryBound } from "../../cache-bounds.ts";
import { FairQueue } from "../../fair-queue.ts";
import { type Fault, isFault } from "../../outbound/fault.ts";
import type { Fetched, Fetcher } from "../../outbound/fetcher.ts";
import { Busy } from "../../outbound/host-limits.ts";
import { mostPictureBytes, type ThumbnailWidth } from "../../thumbnails/bounds.ts";
import { soonEnough, type Thumbnail, type Thumbnails } from "../../thumbnails/thumbnails.ts";
import { decodeDataUri, webUrlOf } from "../read/read-document.ts";

/** A preview with the digest of its picture; a refusal or "busy" as in `Thumbnails`. */
export type LinkedThumbnail = { bytes: Buffer; digest: string } | { refused: string } | "busy";

/** The client, which takes turns with others, and `paid`, which charges it for the bytes that were read for it. */
export interface Asking {
  client: string;
  paid: (bytes: number) => void;
}

/** What a link led to when it was last followed. */
interface Known {
  digest: string;
  /** Milliseconds of Unix time. */
  at: number;
  etag?: string | undefined;
}

/** No server takes a longer URL. */
const mostLink = 2_048;
/** How long a link's picture is reused before its server is asked again. */
const knownMs = 86_400_000;
const failedMs = 300_000;
/** Pictures being fetched or waiting for their preview: in all, and of one client. Each has its bytes in memory. */
const [atOnce, ofOneAtOnce] = [4, 3];
const [mostWaiting, mostOfOne] = [256, 64];
/** Requests to one server, and in all. The queue already limits pictures, but redirects lead to other servers. */
export const linkBounds = { perHost: atOnce, total: 2 * atOnce };
/** How long a request waits: a slow server's full time and a picture more, so that the client learns the outcome. */
const waitMs = 20_000;
/** The most bytes of drawings in data: URIs that wait at the same time. */
const mostDrawnBytes = 33_554_432;

const accept = "image/avif,image/webp,image/*,*/*;q=0.5";

/**
 * Previews of pictures that are not content of this installation: at links, and within data: URIs. They are cached by
 * the digest of the picture's bytes. A link's target is remembered for a day.
 *
 * Only follow links that come from the index: with links of the caller's choice this would be an open proxy.
 */
export class LinkedPictures {
  readonly #thumbnails: Thumbnails;
  readonly #fetcher: Fetcher;
  readonly #following = new Map<string, Promise<LinkedThumbnail>>();
  /** Why a link could not be followed, by the name of the link. */
  readonly #failed = new LRUCache<string, string>({ ...entryBound(10_000), ttl: failedMs });
  readonly #waiting = new FairQueue<() => Promise<void>>(mostWaiting, mostOfOne);
  readonly #running = new Map<string, number>();
  #drawnBytes = 0;

  constructor(thumbnails: Thumbnails, fetcher: Fetcher) {
    this.#thumbnails = thumbnails;
    this.#fetcher = fetcher;
  }

  /** A preview of the picture in a data: URI. */
  async ofData(uri: string, width: ThumbnailWidth, { client, paid }: Asking): Promise<LinkedThumbnail> {
    const decoded = decodeDataUri(uri);
    paid(uri.length);
    if (isFault(decoded)) return { refused: describe(decoded) };
    const { bytes } = decoded;
    const digest = await digestOf(bytes);
    const found = await this.#thumbnails.find(digest, width);
    if (found) return withDigest(found, digest);
    if (this.#drawnBytes + bytes.length > mostDrawnBytes) return "busy";
    this.#drawnBytes += bytes.length;
    const making = this.#thumbnails.makeInTime(pictureOf(digest, bytes), width, client).finally(() => {
      this.#drawnBytes -= bytes.length;
    });
    return withDigest(await soonEnough(making, waitMs), digest);
  }

  /** A preview from what is known of a link, without following it; null where it has to be followed. */
  async find(link: string, width: ThumbnailWidth): Promise<LinkedThumbnail | null> {
    const url = link.length > mostLink ? null : webUrlOf(link);
    if (url === null) return { refused: describe({ fault: "uri_unsupported" }) };
    const name = nameOf(url);
    const known = await this.#known(name);
    const kept = known && (await this.#kept(known, width));
    if (known && kept && known.at + knownMs > Date.now()) return kept;
    const failure = this.#failed.get(name);
    if (failure === undefined) return null;
    // The earlier picture is better than none.
    return kept ?? { refused: failure };
  }

  /** Follows a link, once for all concurrent callers, and makes a preview of its picture. */
  async make(link: string, width: ThumbnailWidth, asking: Asking): Promise<LinkedThumbnail> {
    const url = webUrlOf(link) ?? link;
    const key = `${width} ${url}`;
    const following =
      this.#following.get(key) ?? this.#enqueue(key, asking.client, () => this.#follow(url, width, asking));
    return await soonEnough(following, waitMs);
  }

  async close(): Promise<void> {
    await this.#fetcher.close();
  }

  async #known(name: string): Promise<Known | null> {
    const text = (await this.#thumbnails.noted(name))?.toString();
    return text === undefined ? null : (JSON.parse(text) as Known);
  }

  /** A cached preview, or a refusal; null where there is neither. */
  async #kept({ digest }: Known, width: ThumbnailWidth): Promise<LinkedThumbnail | null> {
    const found = await this.#thumbnails.find(digest, width);
    return found && found !== "busy" ? withDigest(found, digest) : null;
  }

  async #follow(url: string, width: ThumbnailWidth, { client, paid }: Asking): Promise<LinkedThumbnail> {
    const name = nameOf(url);
    const known = await this.#known(name);
    const kept = known && (await this.#kept(known, width));
    const etag = kept ? known?.etag : undefined;
    const answer = await this.#fetch(url, etag);
    // The server asked us to pause, which says nothing about this picture.
    if (answer === "busy") return kept ?? "busy";
    if (isFault(answer)) {
      if (known && kept && answer.fault === "http_304") {
        await this.#thumbnails.note(name, JSON.stringify({ ...known, at: Date.now() } satisfies Known));
        return kept;
      }
      if (answer.fault === "too_large") paid(mostPictureBytes);
      const words = describe(answer);
      this.#failed.set(name, words);
      return kept ?? { refused: words };
    }
    const { bytes } = answer;
    paid(bytes.length);
    const digest = await digestOf(bytes);
    const now: Known = { digest, at: Date.now(), etag: answer.etag };
    await this.#thumbnails.note(name, JSON.stringify(now));
    const found = await this.#thumbnails.find(digest, width);
    return withDigest(
      // The picture is in memory until its preview is made, so the next one is fetched only after that.
      found ?? (await this.#thumbnails.makeInTime(pictureOf(digest, bytes), width, client)),
      digest,
    );
  }

  async #fetch(url: string, etag: string | undefined): Promise<Fetched | Fault | "busy"> {
    try {
      return await this.#fetcher.fetch(url, { accept, maxBytes: mostPictureBytes, ...(etag ? { etag } : {}) });
    } catch (error) {
      if (error instanceof Busy) return "busy";
      throw error;
    }
  }

  #enqueue(key: string, client: string, work: () => Promise<LinkedThumbnail>): Promise<LinkedThumbnail> {
    const { promise, resolve, reject } = Promise.withResolvers<LinkedThumbnail>();
    const turn = async () => {
      this.#count(client, 1);
      await work().then(resolve, reject);
      this.#count(client, -1);
      this.#next();
    };
    if (!this.#waiting.push(client, turn)) return Promise.resolve("busy");
    this.#following.set(key, promise);
    const forget = () => this.#following.delete(key);
    promise.then(forget, forget);
    this.#next();
    return promise;
  }

  #count(client: string, by: number): void {
    const count = (this.#running.get(client) ?? 0) + by;
    if (count > 0) this.#running.set(client, count);
    else this.#running.delete(client);
  }

  #next(): void {
    const isReady = (client: string) => (this.#running.get(client) ?? 0) < ofOneAtOnce;
    const running = [...this.#running.values()].reduce((sum, count) => sum + count, 0);
    if (running < atOnce) void this.#waiting.shift(isReady)?.();
  }
}

function pictureOf(id: string, bytes: Uint8Array) {
  return {
    id,
    size: bytes.length,
    stream: async function* () {
      yield bytes;
    },
  };
}

function withDigest(thumbnail: Thumbnail, digest: string): LinkedThumbnail {
  return thumbnail === "busy" || "refused" in thumbnail ? thumbnail : { bytes: thumbnail.bytes, digest };
}

/** The cache key for a link, of the same length for every link. */
function nameOf(url: string): string {
  return `link ${createHash("sha256").update(url).digest("hex")}`;
}

/** On another thread: for a picture of many megabytes it takes as long as some hundred requests. */
async function digestOf(bytes: Uint8Array): Promise<string> {
  return Buffer.from(await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>)).toString("hex");
}

function describe({ fault }: Fault): string {
  if (fault === "too_large") return `it has more than ${mostPictureBytes} bytes, or says so`;
  if (fault === "uri_unsupported") return "its link is none that can be followed";
  return `its server cannot be read (${fault})`;
}
