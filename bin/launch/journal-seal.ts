import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { CommandError } from "../command-error.ts";

/**
 * Shows that a journal was written by this user on this machine: each line has a MAC over itself and all lines before
 * it. A journal may come with a folder from anywhere, and what it says is paid for.
 */
export class JournalSeal {
  readonly #key: Buffer | null;
  #digest = "";
  #isOwn = true;

  /** @param key null: nothing can be verified, and no line counts as this user's own. */
  constructor(key: Buffer | null) {
    this.#key = key;
  }

  /** Adds a line that was read. @param code the MAC in that line. */
  read(line: string, code: unknown): void {
    const wanted = this.#next(line);
    // The last line vouches for all before it: its writer had checked them.
    this.#isOwn = wanted !== null && typeof code === "string" && isSame(wanted, code);
  }

  /** The MAC of the line about to be written; undefined without a key. */
  write(line: string): string | undefined {
    return this.#next(line) ?? undefined;
  }

  /** Whether the last line read is this user's; true before any line. */
  get isOwn(): boolean {
    return this.#isOwn;
  }

  #next(line: string): string | null {
    this.#digest = createHash("sha256").update(`${this.#digest}\n${line}`).digest("hex");
    return this.#key && createHmac("sha256", this.#key).update(this.#digest).digest("hex");
  }
}

function isSame(wanted: string, given: string): boolean {
  const [a, b] = [Buffer.from(wanted), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/**
 * The key for journals, in the user's configuration folder (XDG Base Directory Specification), readable only by them.
 *
 * @returns null when there is no such folder and none can be created.
 * @throws CommandError for a file with other content.
 */
export function readJournalKey(env: NodeJS.ProcessEnv = process.env): Buffer | null {
  const folder = join(env["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "mintyard");
  const path = join(folder, "journal-key");
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // When two commands start at the same time, one writes and both read what it wrote.
    writeFileSync(path, `${randomBytes(32).toString("hex")}\n`, { mode: 0o600, flag: "wx" });
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["EACCES", "EPERM", "EROFS", "ENOTDIR", "ENOENT"].includes(code)) return null;
    if (code !== "EEXIST") throw error;
  }
  const text = readFileSync(path, "utf8").trim();
  if (!/^[0-9a-f]{64}$/.test(text))
    throw new CommandError(`${path} has no key of journals; delete it, and a new one is made`);
  return Buffer.from(text, "hex");
}
