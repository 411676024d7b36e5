import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
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
  html: string;
  sections: { anchor: string; title: string; text: string }[];
}

const webFolder = join(import.meta.dirname, "../../web/dist");

/** The list of built files, read again when another build has replaced it. */
export class WebFiles {
  #found: { at: number; manifest: WebManifest } | null = null;

  /** @throws ServiceError `service_unavailable` until the pages are built. */
  async manifest(): Promise<WebManifest> {
    const path = join(webFolder, "manifest.json");
    const at = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => null,
    );
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

  /** Read each time: they are asked for seldom, and the process need not hold them. */
  async guides(): Promise<GuidePage[]> {
    await this.manifest();
    return JSON.parse(await readFile(join(webFolder, "guides.json"), "utf8")) as GuidePage[];
  }

  /** @throws ServiceError `not_found` for a name that is not in the list: no path is ever made of anything else. */
  async read(name: string, encoding: "br" | "gz" | null): Promise<Uint8Array<ArrayBuffer>> {
    const { files } = await this.manifest();
    if (!files.includes(name)) throw new ServiceError("not_found", "the pages have no such file; load the page again");
    return new Uint8Array(await readFile(join(webFolder, "assets", encoding === null ? name : `${name}.${encoding}`)));
  }
}
