import { hash } from "node:crypto";
import { type ErrorCode, ServiceError } from "../errors/errors.ts";
import type { Whereabouts } from "../ipfs/locate-content.ts";
import type { LongWork } from "../long-work.ts";
import { gatewayPath, type IpfsLocation, type IpfsLocations, parseIpfsUri } from "../metadata/read/ipfs-location.ts";
import { isTooComplex } from "../metadata/read/parse-document.ts";
import { baseName, entryNames } from "./entry-names.ts";
import { isLeftOut } from "./folder-files.ts";
import { filesOf, lintDocument, type Remark } from "./lint-document.ts";

/** A rule that some files of a directory violate; the directory is stored all the same. */
export interface DirectoryWarning {
  /** A stable identifier for programs. */
  rule: string;
  message: string;
  /** Number of files that violate it; for `token_ids_missing`, of ids. */
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

const ofPlace: Record<Whereabouts, Remark | null> = {
  here: null,
  elsewhere: {
    rule: "image_not_here",
    message: "an image or file on IPFS is not stored here: upload it, or be sure that somebody else keeps it",
  },
  nowhere: {
    rule: "image_dead",
    message: "a link leads into a directory that is stored here and has no such file: nobody can have it",
  },
};

/** If a link can mean several locations, the nearest content counts. */
const nearest: readonly Whereabouts[] = ["here", "elsewhere", "nowhere"];

const mostProblems = 100;
const mostExamples = 10;
/** The most links of all documents; further ones are not looked up. */
const mostContents = 50_000;

/** Takes the files of a metadata directory one by one and collects their faults. */
export class DirectoryLint {
  /** Each of them refuses the directory. After the first hundred they are only counted. */
  readonly #problems: Problem[] = [];
  #problemCount = 0;
  readonly #warnings = new Map<string, DirectoryWarning>();
  readonly #digests = new Map<string, string>();
  readonly #tokenIds = new Set<bigint>();
  /** Content on IPFS that documents link to, with the first file that does. */
  readonly #contents = new Map<string, { locations: IpfsLocations; file: string; count: number }>();

  get refuses(): boolean {
    return this.#problemCount > 0;
  }

  refuse(fileName: string | null, error: ServiceError): void {
    this.#problemCount += 1;
    if (this.#problems.length >= mostProblems) return;
    const { code, message } = error;
    this.#problems.push({ code, field: (fileName ?? "").slice(0, 300), message });
  }

  /** Files that systems and generators add to folders belong to no token, and are no reason to refuse the directory. */
  leaveOut(fileName: string | null): void {
    const message = "files that are no token's, such as an operating system's, are left out";
    this.#warn({ rule: "left_out", message }, baseName(fileName ?? ""));
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

  /** Checks a file's bytes. @returns whether it may be linked under these names. */
  file(fileName: string | null, names: readonly string[], bytes: Uint8Array): boolean {
    const before = this.#warnings.get("left_out")?.count;
    const document = this.#parse(fileName, bytes);
    if (this.#warnings.get("left_out")?.count !== before) return false;
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
    this.#readLinks(document, shown);
    return true;
  }

  /**
   * The warnings, by rule. Call it once, at the end.
   *
   * @param locate finds out where the content of each location is.
   */
  async warnings(
    locate: (locations: readonly IpfsLocation[]) => Promise<Whereabouts[]>,
    work: LongWork,
  ): Promise<DirectoryWarning[]> {
    await this.#findGaps(work);
    const contents = [...this.#contents.values()];
    const places = contents.length === 0 ? [] : await locate(contents.flatMap(({ locations }) => locations));
    let at = 0;
    for (const { locations, file, count } of contents) {
      const found = places.slice(at, at + locations.length);
      at += locations.length;
      const remark = ofPlace[nearest.find((place) => found.includes(place)) ?? "here"];
      if (remark) this.#warn(remark, file, count);
    }
    return [...this.#warnings.values()];
  }

  /** The error with every problem and its file. Its code is that of the first problem. */
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
      // HashLips also writes a list of all documents.
      if (Array.isArray(value) && isLeftOut(baseName(fileName ?? ""))) {
        this.leaveOut(fileName);
        return null;
      }
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

  #readLinks(document: Record<string, unknown>, file: string): void {
    for (const link of linksOf(document)) {
      if (this.#contents.size >= mostContents) return;
      const locations = parseIpfsUri(link);
      if (!locations) continue;
      const key = gatewayPath(locations[0]);
      const known = this.#contents.get(key);
      if (known) known.count += 1;
      else this.#contents.set(key, { locations, file, count: 1 });
    }
  }

  async #findGaps(work: LongWork): Promise<void> {
    let end = 0n;
    for (const id of this.#tokenIds) {
      if (work.isOver) await work.rest();
      if (id >= end) end = id + 1n;
    }
    const count = end - BigInt(this.#tokenIds.size);
    if (count === 0n) return;
    const examples: string[] = [];
    // Starting at 0, as collections of this service do.
    for (let id = 0n; id < end && examples.length < mostExamples; id += 1n) {
      if (work.isOver) await work.rest();
      if (!this.#tokenIds.has(id)) examples.push(String(id));
    }
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

/** More than any document has; each link is looked up. */
const mostLinks = 1_000;
/** Values of a document that are searched for links. */
const mostValues = 50_000;

/** The links of a document: those that it shows, and every text anywhere that is a link to IPFS. */
function linksOf(document: Record<string, unknown>): Set<string> {
  const shown = [document["image"], document["animation_url"], ...filesOf(document)];
  const links = new Set(shown.filter((link) => typeof link === "string").slice(0, mostLinks));
  const waiting: unknown[] = [document];
  for (let seen = 0; waiting.length > 0 && links.size < mostLinks && seen < mostValues; seen += 1) {
    const value = waiting.pop();
    if (typeof value === "string" && /^(ipfs:|https?:\/\/\S*\/ipfs\/)\S*$/i.test(value)) links.add(value);
    else if (Array.isArray(value)) for (const inner of value.slice(0, mostValues)) waiting.push(inner);
    else if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) waiting.push(inner);
  }
  return links;
}

export function quoted(fileName: string | null): string {
  return JSON.stringify((fileName ?? "").slice(0, 100));
}
