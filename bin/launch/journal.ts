import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { CommandError } from "../command-error.ts";
import { JournalSeal, readJournalKey } from "./journal-seal.ts";

/** One line of the journal. It is written after its event has happened, but an `intent` before its request is sent. */
export type Step =
  | { step: "begun"; at: string; id: string; service: string; account: string }
  | { step: "file"; path: string; sha256: string; sizeBytes: number; cid: string }
  /** `documents` has a prefix of each document's SHA-256, by its path. */
  | { step: "directory"; uri: string; documents: Record<string, string> }
  | { step: "placeholder"; sha256: string; uri: string }
  | { step: "deploy_intent"; at: string; input: DeployInput; predictedAddress: string }
  /** The service refused the request as a whole: nothing was signed or paid. */
  | { step: "deploy_refused"; idempotencyKey: string; reason: string }
  /** The request ended for good without a collection: cancelled, expired, or refused by the chain. */
  | { step: "deploy_ended"; at: string; idempotencyKey: string; id: string; state: string }
  | { step: "deployment"; id: string; transactionHash: string | null; predictedAddress: string }
  | { step: "deployed"; at: string; address: string; transactionHash: string; transactionUrl: string | null }
  | { step: "verified"; at: string }
  | { step: "update_intent"; at: string; kind: UpdateKind; input: UpdateInput }
  | { step: "update_refused"; idempotencyKey: string; reason: string }
  | { step: "updated"; at: string; kind: UpdateKind; idempotencyKey: string; transactionHash: string | null };

export type UpdateKind = "reveal" | "allowlist";
export type DeployInput = Record<string, unknown> & { chain: string; idempotencyKey: string };
export type UpdateInput = Record<string, unknown> & { chain: string; collection: string; idempotencyKey: string };
type StepOf<K extends Step["step"]> = Extract<Step, { step: K }>;

/**
 * The record of one launch, next to its folder: append-only, one JSON line per step. A launch that was killed resumes
 * from it. Only one process may have it open.
 */
export class Journal {
  readonly path: string;
  /** Whether an earlier process wrote to it, and may have been killed between an upload and its line. */
  readonly resumed: boolean;
  readonly #steps: Step[];
  readonly #file: number;
  readonly #lock: string;
  readonly #seal: JournalSeal;

  private constructor(path: string, lock: string) {
    this.path = path;
    this.#lock = lock;
    this.#seal = new JournalSeal(readJournalKey());
    const text = existsSync(path) ? readFileSync(path, "utf8") : "";
    // A process that was killed while writing leaves a partial line; nothing had relied on it yet.
    const whole = text.slice(0, text.lastIndexOf("\n") + 1);
    this.#steps = parse(whole, path, this.#seal);
    this.resumed = this.#steps.length > 0;
    this.#file = openSync(path, "a");
    if (whole.length < text.length) ftruncateSync(this.#file, Buffer.byteLength(whole));
  }

  /** The journal of `art/` is `art.launch.jsonl`. @throws CommandError when another launch of the folder is running. */
  static open(folder: string): Journal {
    const path = journalPath(folder);
    refuseLink(path);
    const lock = `${path}.lock`;
    takeLock(lock);
    try {
      return new Journal(path, lock);
    } catch (error) {
      releaseLock(lock);
      throw error;
    }
  }

  /** Reads the steps without taking the lock, for commands that change nothing. */
  static read(folder: string): { steps: readonly Step[]; isOwn: boolean } {
    const path = journalPath(folder);
    if (!existsSync(path)) throw new CommandError(`${folder} was not launched from here: there is no ${path}`);
    const text = readFileSync(path, "utf8");
    const seal = new JournalSeal(readJournalKey());
    const steps = parse(text.slice(0, text.lastIndexOf("\n") + 1), path, seal);
    return { steps, isOwn: seal.isOwn };
  }

  /**
   * Whether this user wrote it on this machine: then the user was asked about its content, which may be paid for. Once
   * the user has accepted a foreign journal, the next line written makes it the user's own.
   */
  get isOwn(): boolean {
    return this.#seal.isOwn;
  }

  get steps(): readonly Step[] {
    return this.#steps;
  }

  last<K extends Step["step"]>(kind: K): StepOf<K> | undefined {
    return lastStep(this.#steps, kind);
  }

  all<K extends Step["step"]>(kind: K): StepOf<K>[] {
    return this.#steps.filter((step): step is StepOf<K> => step.step === kind);
  }

  write(step: Step): void {
    const code = this.#seal.write(JSON.stringify(step));
    writeSync(this.#file, `${JSON.stringify({ ...step, ...(code ? { code } : {}) })}\n`);
    this.#steps.push(step);
  }

  /** Writes a step and waits until it is on disk; required before a request that costs money. */
  writeSynced(step: Step): void {
    this.write(step);
    fsyncSync(this.#file);
    // A new file's name is on disk only once its folder is synced.
    const folder = openSync(dirname(this.path), "r");
    fsyncSync(folder);
    closeSync(folder);
  }

  close(): void {
    closeSync(this.#file);
    releaseLock(this.#lock);
  }
}

export function lastStep<K extends Step["step"]>(steps: readonly Step[], kind: K): StepOf<K> | undefined {
  return steps.findLast((step): step is StepOf<K> => step.step === kind);
}

export function journalPath(folder: string): string {
  const path = resolve(folder);
  return join(dirname(path), `${basename(path)}.launch.jsonl`);
}

/** A journal that came with a folder may be a link to any file of this user, and lines would be appended to that. */
function refuseLink(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())
    throw new CommandError(
      `${path} is a link; the journal is a file beside its folder: put it there, or remove the link`,
    );
}

function parse(text: string, path: string, seal: JournalSeal): Step[] {
  return text
    .split("\n")
    .filter(Boolean)
    .map((line, index) => {
      try {
        const { code, ...step } = JSON.parse(line) as Step & { code?: unknown };
        seal.read(JSON.stringify(step), code);
        return step as Step;
      } catch {
        throw new CommandError(
          `${path}: line ${index + 1} is damaged; restore the file, it says what was paid already`,
        );
      }
    });
}

/** Errors of file systems without hard links: exFAT, some network shares. */
const noLinks = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EINVAL"]);

/** Locks taken by this process. */
const held = new Set<string>();

function takeLock(lock: string): void {
  takeFile(lock);
  held.add(lock);
}

function releaseLock(lock: string): void {
  held.delete(lock);
  rmSync(lock, { force: true });
}

/** A process killed between the two calls leaves an empty lock, which nobody owns. */
function takeWithoutLink(lock: string): void {
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: "wx" });
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    refuseHeld(lock);
    rmSync(lock, { force: true });
  }
}

/** @throws CommandError when another launch is running. */
function refuseHeld(lock: string): void {
  const holder = Number(readFileSync(lock, "utf8"));
  // This process's own id in the lock is from an earlier process, as in a new container: it has not locked yet.
  if (held.has(lock) || (holder !== process.pid && isRunning(holder)))
    throw new CommandError(`process ${holder} launches this folder already; if that is no launch, remove ${lock}`);
}

function takeFile(lock: string): void {
  const own = `${lock}.${process.pid}`;
  // The lock appears with its owner's process id in it, never empty.
  writeFileSync(own, String(process.pid));
  try {
    for (;;) {
      try {
        linkSync(own, lock);
        return;
      } catch (error) {
        const { code = "" } = error as NodeJS.ErrnoException;
        if (noLinks.has(code)) {
          takeWithoutLink(lock);
          return;
        }
        if (code !== "EEXIST") throw error;
      }
      refuseHeld(lock);
      rmSync(lock, { force: true });
    }
  } finally {
    rmSync(own, { force: true });
  }
}

function isRunning(pid: number): boolean {
  if (!pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
