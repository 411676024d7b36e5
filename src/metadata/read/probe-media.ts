import { disableTypes, imageSize } from "image-size";
import { LRUCache } from "lru-cache";
import { guessTextType, sniffType } from "../../ipfs/sniff-type.ts";
import { type Fault, isFault } from "../../outbound/fault.ts";
import { readCapped } from "../../outbound/fetcher.ts";
import { Busy } from "../../outbound/host-limits.ts";
import { gatewayPath, type IpfsLocations, parseIpfsUri } from "./ipfs-location.ts";
import { askGateways, decodeDataUri, ownContent, type Sources, webUrlOf } from "./read-document.ts";

/** Formats that no NFT has, or whose patterns match other files too. */
const ignoredFormats: Parameters<typeof disableTypes>[0] = [
  ...(["cur", "dds", "icns", "ico", "j2c", "jp2", "jxl", "jxl-stream", "ktx", "pnm", "psd", "tga", "tiff"] as const),
];

/** An image's header lies within these first bytes; no more are read. */
const headBytes = 65_536;
const remembered = 2_000;
const rememberMs = 300_000;
const svgType = "image/svg+xml";

/** Facts about the file behind a token's image. */
export interface MediaInformation {
  /** Detected from the first bytes, never from a server's header. */
  type: string | null;
  sizeBytes: number | null;
  width: number | null;
  height: number | null;
}

type Answer = MediaInformation | Fault;

/**
 * Reads type, size and dimensions of images from their first 64 KiB. Thousands of tokens share one image before a
 * reveal, so results are cached for five minutes.
 */
export class MediaProbe {
  readonly #answers = new LRUCache<string, Promise<Answer>>({ max: remembered, ttl: rememberMs });

  constructor() {
    disableTypes(ignoredFormats);
  }

  /** @returns null when only a server has the image; `probe` asks it. */
  async probeHere(sources: Sources, url: string, signal: AbortSignal): Promise<Answer | null> {
    if (/^data:/i.test(url)) return await this.probe(sources, url, signal);
    const locations = url.length > 2_048 ? null : parseIpfsUri(url);
    if (this.#answers.has(url)) return await this.probe(sources, url, signal);
    const own = locations && (await ownContent(sources, locations));
    return own?.kind === "file" ? await this.probe(sources, url, signal) : null;
  }

  /** @throws never: an image that cannot be read is a fault. */
  async probe(sources: Sources, url: string, signal: AbortSignal): Promise<Answer> {
    const known = this.#answers.get(url);
    if (known) return await known;
    const answer = read(sources, url, signal).catch(
      (error: unknown): Fault => ({
        fault: error instanceof Busy ? "host_busy" : "fetch_failed",
      }),
    );
    if (url.length <= 2_048) this.#answers.set(url, answer);
    const done = await answer;
    if (isFault(done) && done.fault === "host_busy") this.#answers.delete(url);
    return done;
  }
}

/** Inspects the first bytes of a file; never throws, whatever they are. */
export function inspect(head: Uint8Array, totalBytes: number | null): MediaInformation {
  const type = sniffType(head);
  try {
    const { width, height, format } = measure(head);
    const sized = isSize(width) && isSize(height);
    return {
      type: type ?? (format === "svg" ? svgType : null),
      sizeBytes: totalBytes,
      width: sized ? Math.round(width) : null,
      height: sized ? Math.round(height) : null,
    };
  } catch {
    // An SVG may have no size.
    const drawing = type === null && guessTextType(head) === svgType ? svgType : null;
    return { type: type ?? drawing, sizeBytes: totalBytes, width: null, height: null };
  }
}

/** Numbers of a viewBox may be separated by spaces or commas; the library only accepts single spaces. */
const viewBox = /\sviewBox\s*=\s*["']\s*[-+.\d]+[\s,]+[-+.\d]+[\s,]+([.\d]+)[\s,]+([.\d]+)\s*["']/i;

/** @throws for anything but an image with a size. */
function measure(head: Uint8Array) {
  const { width, height, type: format } = imageSize(head);
  if (format !== "svg" || isSize(width)) return { width, height, format };
  const [tag = ""] = /<svg\s[^>]{0,4096}/i.exec(Buffer.from(head).toString()) ?? [];
  const [, ...box] = viewBox.exec(tag) ?? [];
  return { width: Number(box[0]), height: Number(box[1]), format };
}

async function read(sources: Sources, url: string, signal: AbortSignal): Promise<Answer> {
  if (/^data:/i.test(url)) {
    const decoded = decodeDataUri(url);
    return isFault(decoded) ? decoded : inspectOrFault(decoded.bytes, decoded.bytes.byteLength);
  }
  if (url.length > 2_048) return { fault: "uri_unsupported" };
  const locations = parseIpfsUri(url);
  if (locations) return await readFromIpfs(sources, locations, url, signal);
  const web = webUrlOf(url);
  if (web === null) return { fault: "uri_unsupported" };
  const answer = await sources.fetcher.fetchHead(web, headBytes, { signal });
  return isFault(answer) ? answer : inspectOrFault(answer.bytes, answer.totalBytes);
}

async function readFromIpfs(sources: Sources, locations: IpfsLocations, url: string, signal: AbortSignal) {
  const own = await ownContent(sources, locations);
  if (own?.kind === "directory") return { fault: "ipfs_is_directory" } as const;
  if (own) {
    const length = Math.min(own.size, headBytes);
    const head = await readCapped(own.stream({ offset: 0, length }));
    return isFault(head) ? head : inspectOrFault(head.bytes, own.size);
  }
  return await askGateways(sources, locations, url, async ({ base, search, trusted }, location) => {
    // A part of a file cannot be checked against a hash. The gateway is trusted here, for image headers only.
    const address = `${base}/${gatewayPath(location)}${search}`;
    const answer = await sources.fetcher.fetchHead(address, headBytes, { trusted, signal });
    return isFault(answer) ? answer : inspectOrFault(answer.bytes, answer.totalBytes);
  });
}

function inspectOrFault(bytes: Uint8Array, totalBytes: number | null): Answer {
  const known = inspect(bytes.subarray(0, headBytes), totalBytes);
  return known.type === null && known.width === null ? { fault: "not_media" } : known;
}

/** Whether it fits a column of type integer. */
function isSize(value: number | undefined): value is number {
  return value !== undefined && Number.isFinite(value) && value > 0 && value < 2 ** 31;
}
