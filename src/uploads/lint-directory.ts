import { hash } from "node:crypto";
import { type ErrorCode, ServiceError } from "../errors/errors.ts";
import { gatewayPath, type IpfsLocation, type IpfsLocations, parseIpfsUri } from "../metadata/read/ipfs-location.ts";
import { isTooComplex } from "../metadata/read/parse-document.ts";
import { baseName, entryNames } from "./entry-names.ts";
import { lintDocument, type Remark } from "./lint-document.ts";

/** A rule that some files of a directory break; the directory is stored all the same. */
export interface DirectoryWarning {
  /** Stable, for programs. */
  rule: string;
  message: string;
  /** Files that break it; of `token_ids_missing`, the ids. */
  count: number;
  /** The first of them. */
  examples: string[];
}

interface Problem {
  code: ErrorCode;
  field: string;
  message: string;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

const mostProblems = 100;
const mostExamples = 10;

/** Takes the files of a metadata directory one by one and keeps all that is wrong with them. */
export class DirectoryLint {
  /** Each refuses the directory; those after the first hundred are only counted. */
  readonly #problems: Problem[] = [];
  #problemCount = 0;
  readonly #warnings = new Map<string, DirectoryWarning>();
  readonly #digests = new Map<string, string>();
  readonly #tokenIds = new Set<bigint>();
  /** Content on IPFS that documents show, with the first file that does. */
  readonly #images = new Map<string, { locations: IpfsLocations; file: string; count: number }>();

  get refuses(): boolean {
    return this.#problemCount > 0;
  }

  refuse(fileName: string | null, error: ServiceError): void {
    this.#problemCount += 1;
    if (this.#problems.length >= mostProblems) return;
    const { code, message } = error;
    this.#problems.push({ code, field: (fileName ?? "").slice(0, 300), message });
  }

  /** @returns the names under which this file is linked; null when it refuses the directory. */
  names(fileName: string | null): string[] | null {
    try {
      return entryNames(fileName);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      this.refuse(fileName, error);
      return null;
    }
  }

  /** Looks at a file's bytes. @returns whether they may be linked under these names. */
  file(fileName: string | null, names: readonly string[], bytes: Uint8Array): boolean {
    const document = this.#parse(fileName, bytes);
    const digest = hash("sha256", bytes, "base64");
    const taken = names.find((name) => (this.#digests.get(name) ?? digest) !== digest);
    if (taken !== undefined) {
      const message = `two different files claim the name ${JSON.stringify(taken)}`;
      this.refuse(fileName, new ServiceError("value_error", message));
    }
    for (const name of names) this.#digests.set(name, digest);
    if (!document || taken !== undefined) return false;
    this.#readName(fileName ?? "", names[0] ?? "");
    const shown = baseName(fileName ?? "");
    for (const remark of lintDocument(document)) this.#warn(remark, shown);
    this.#readImage(document["image"], shown);
    return true;
  }

  /**
   * What was found, by rule. Call it once, at the end.
   *
   * @param missing which of the locations are not in this installation's store.
   */
  async warnings(missing: (locations: readonly IpfsLocation[]) => Promise<boolean[]>): Promise<DirectoryWarning[]> {
    this.#findGaps();
    const images = [...this.#images.values()];
    const absent = images.length === 0 ? [] : await missing(images.flatMap(({ locations }) => locations));
    const message = "an image on IPFS is not stored here: upload it, or be sure that somebody else keeps it";
    let at = 0;
    for (const { locations, file, count } of images) {
      if (absent.slice(at, at + locations.length).every(Boolean))
        this.#warn({ rule: "image_not_here", message }, file, count);
      at += locations.length;
    }
    return [...this.#warnings.values()];
  }

  /** The failure with every problem, each with its file. The first one's code is the failure's. */
  refusal(warnings: readonly DirectoryWarning[]): ServiceError {
    const [first] = this.#problems;
    const more = this.#problemCount - this.#problems.length;
    const problems = [...this.#problems];
    if (more > 0) problems.push({ code: "value_error", field: "", message: `and ${more} problems more` });
    const { code = "value_error", message = "" } = first ?? {};
    return new ServiceError(code, message, { details: { problems, warnings } });
  }

  #parse(fileName: string | null, bytes: Uint8Array): Record<string, unknown> | null {
    const wrong = (what: string) => {
      this.refuse(fileName, new ServiceError("value_error", `${quoted(fileName)} ${what}`));
      return null;
    };
    try {
      const text = utf8.decode(bytes);
      const value: unknown = JSON.parse(text);
      if (value === null || typeof value !== "object" || Array.isArray(value)) return wrong("must hold a JSON object");
      if (isTooComplex(text)) {
        const message = "a document is nested so deep or has so many members that indexes leave it out";
        this.#warn({ rule: "too_complex", message }, baseName(fileName ?? ""));
      }
      return value as Record<string, unknown>;
    } catch (error) {
      const fault = error instanceof SyntaxError ? `: ${error.message.slice(0, 120)}` : "";
      return wrong(`is not JSON${fault}`);
    }
  }

  #readName(fileName: string, stem: string): void {
    if (/^(0|[1-9]\d{0,77})$/.test(stem)) return void this.#tokenIds.add(BigInt(stem));
    const message = "a file is not named by a token id (0.json, 1.json, …): no token URI leads to it";
    this.#warn({ rule: "name_is_no_token_id", message }, baseName(fileName));
  }

  #readImage(image: unknown, file: string): void {
    const locations = typeof image === "string" ? parseIpfsUri(image) : null;
    if (!locations) return;
    const key = gatewayPath(locations[0]);
    const known = this.#images.get(key);
    if (known) known.count += 1;
    else this.#images.set(key, { locations, file, count: 1 });
  }

  #findGaps(): void {
    const ids = [...this.#tokenIds].sort((a, b) => (a < b ? -1 : 1));
    let count = 0n;
    const examples: string[] = [];
    // From 0, where the collections of this service begin.
    let expected = 0n;
    for (const id of ids) {
      count += id - expected;
      for (; expected < id && examples.length < mostExamples; expected += 1n) examples.push(String(expected));
      expected = id + 1n;
    }
    if (count === 0n) return;
    const message = "token ids between 0 and the last have no file";
    this.#warnings.set("token_ids_missing", { rule: "token_ids_missing", message, count: Number(count), examples });
  }

  #warn({ rule, message, found }: Remark, file: string, count = 1): void {
    const warning = this.#warnings.get(rule) ?? { rule, message, count: 0, examples: [] };
    this.#warnings.set(rule, warning);
    warning.count += count;
    if (warning.examples.length >= mostExamples) return;
    warning.examples.push(found === undefined ? file.slice(0, 300) : `${file.slice(0, 300)}: ${found}`);
  }
}

export function quoted(fileName: string | null): string {
  return JSON.stringify((fileName ?? "").slice(0, 100));
}
