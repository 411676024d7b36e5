import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { LRUCache } from "lru-cache";
import { byteBound } from "../cache-bounds.ts";
import { ServiceError } from "../errors/errors.ts";

/** The files that one page loads, by name below `/assets`. */
export interface PageFiles {
  script: string;
  /** Modules that the script imports. */
  preloads: readonly string[];
  styles: readonly string[];
}

/** The output of `bin/build-web.ts`. */
export interface WebManifest {
  /** Hash of the sources. */
  stamp: string;
  pages: Record<string, PageFiles>;
  /** Every file of `assets`; each also exists as `.br` and `.gz`. */
  files: readonly string[];
}

/** A document of `docs/` as a page, with its search index. */
export interface GuidePage {
  name: string;
  title: string;
  /** Explains what to do about one alert; the guide `runbooks` lists them. */
  isRunbook: boolean;
  html: string;
  sections: { anchor: string; title: string; text: string }[];
}

/** Cached bytes of files that pages load. */
const keptBytes = 16_777_216;

const webFolder = join(import.meta.dirname, "../../web/dist");

/** The built files, listed again after each build. */
export class WebFiles {
  #found: { at: number; manifest: WebManifest } | null = null;
  readonly #read = new LRUCache<string, Uint8Array<ArrayBuffer>>(byteBound(keptBytes));

  /** Identifies the current build; null: there is none. */
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

  /** Read only when a guide's page is made, because pages are cached: the process need not keep the guides. */
  async guides(): Promise<GuidePage[]> {
    await this.manifest();
    return JSON.parse(await readFile(join(webFolder, "guides.json"), "utf8")) as GuidePage[];
  }

  /** @throws ServiceError `not_found` for a name outside the manifest: no other text ever becomes a path. */
  async read(name: string, encoding: "br" | "gz" | null): Promise<Uint8Array<ArrayBuffer>> {
    const { files } = await this.manifest();
    if (!files.includes(name)) throw new ServiceError("not_found", "the pages have no such file; load the page again");
    // A name contains a hash of the content.
    const file = encoding === null ? name : `${name}.${encoding}`;
    const kept = this.#read.get(file) ?? new Uint8Array(await readFile(join(webFolder, "assets", file)));
    this.#read.set(file, kept);
    return kept;
  }
}
