import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { LRUCache } from "lru-cache";
import { byteBound } from "../cache-bounds.ts";
import { ServiceError } from "../errors/errors.ts";

/** What one page loads, by name below `/assets`. */
export interface PageFiles {
  script: string;
  /** Modules that the script imports. */
  preloads: readonly string[];
  styles: readonly string[];
}

/** What `bin/build-web.ts` made. */
export interface WebManifest {
  /** Of the sources. */
  stamp: string;
  pages: Record<string, PageFiles>;
  /** Every file of `assets`; each is there as `.br` and `.gz` too. */
  files: readonly string[];
}

/** A document of `docs/` as a page, and what a search finds of it. */
export interface GuidePage {
  name: string;
  title: string;
  /** What to do about one alert: the guide `runbooks` lists them. */
  isRunbook: boolean;
  html: string;
  sections: { anchor: string; title: string; text: string }[];
}

/** Of files that pages load. */
const keptBytes = 16_777_216;

const webFolder = join(import.meta.dirname, "../../web/dist");

/** The list of built files, read again when another build has replaced it. */
export class WebFiles {
  #found: { at: number; manifest: WebManifest } | null = null;
  readonly #read = new LRUCache<string, Uint8Array<ArrayBuffer>>(byteBound(keptBytes));

  /** Names what is built now; null: nothing is. */
  async builtAt(): Promise<number | null> {
    return await stat(join(webFolder, "manifest.json")).then(
      ({ mtimeMs }) => mtimeMs,
      () => null,
    );
  }

  /** @throws ServiceError `service_unavailable` until the pages are built. */
  async manifest(): Promise<WebManifest> {
    const path = join(webFolder, "manifest.json");
    const at = await this.builtAt();
    if (at === null)
      throw new ServiceError(
        "service_unavailable",
        "the pages are being built, which takes some seconds at the first start; without `npm start`, run `node bin/build-web.ts`",
        { retryAfterSeconds: 3 },
      );
    if (this.#found?.at !== at) {
      const manifest = JSON.parse(await readFile(path, "utf8")) as WebManifest;
      this.#found = { at, manifest };
    }
    return this.#found.manifest;
  }

  /** Read when one of their pages is made, which is kept: the process need not hold them. */
  async guides(): Promise<GuidePage[]> {
    await this.manifest();
    return JSON.parse(await readFile(join(webFolder, "guides.json"), "utf8")) as GuidePage[];
  }

  /** @throws ServiceError `not_found` for a name that is not in the list: no path is ever made of anything else. */
  async read(name: string, encoding: "br" | "gz" | null): Promise<Uint8Array<ArrayBuffer>> {
    const { files } = await this.manifest();
    if (!files.includes(name)) throw new ServiceError("not_found", "the pages have no such file; load the page again");
    // A name has a hash of what it names.
    const file = encoding === null ? name : `${name}.${encoding}`;
    const kept = this.#read.get(file) ?? new Uint8Array(await readFile(join(webFolder, "assets", file)));
    this.#read.set(file, kept);
    return kept;
  }
}
