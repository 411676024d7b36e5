import { closeSync, existsSync, fsyncSync, openSync, readFileSync, truncateSync, writeSync } from "node:fs";

/** One request that changed the chain, with what a replay needs to reach the same block hashes. */
interface JournalEntry {
  method: string;
  params: unknown;
  /** Unix seconds of the first block it mined; absent when it mined none. */
  timestamp?: number;
  /** Hash of the newest block afterwards. */
  head: string;
}

type Request = (method: string, params?: unknown) => Promise<unknown>;

interface Head {
  number: string;
  hash: string;
  timestamp: string;
}

const changing = /^(eth_sendRawTransaction|eth_sendTransaction|evm_|hardhat_(?!metadata|getAutomine))/;

/** Whether a request may change the chain and so belongs in the journal. */
export function changesChain(method: string): boolean {
  return changing.test(method) && method !== "evm_setNextBlockTimestamp";
}

/**
 * Keeps an in-memory development chain across restarts: every request that changes it is appended to a file, synced
 * before it is answered, and replayed at the next start with its original timestamps.
 */
export class ChainJournal {
  readonly #file: string;
  #descriptor = -1;

  constructor(file: string) {
    this.#file = file;
  }

  /**
   * Replays what earlier runs recorded, and opens the file for more.
   *
   * @returns the number of requests replayed.
   * @throws Error when the replay reaches another block hash than the recorded one: the index would then describe a
   * chain that does not exist.
   */
  async replay(request: Request): Promise<number> {
    const entries = this.#read();
    for (const [index, entry] of entries.entries()) {
      if (entry.timestamp !== undefined) await request("evm_setNextBlockTimestamp", [entry.timestamp]);
      // A transaction that reverts is mined too; the node answers it with an error, as it did before.
      await request(entry.method, entry.params).catch(() => undefined);
      const { hash } = await head(request);
      if (hash !== entry.head) {
        throw new Error(
          `${this.#file}: entry ${index + 1} (${entry.method}) led to block ${hash}, not ${entry.head}; remove the data folder`,
        );
      }
    }
    if (entries.length > 0) await catchUpWithClock(request);
    this.#descriptor = openSync(this.#file, "a", 0o600);
    return entries.length;
  }

  /**
   * Runs one request that changes the chain, and makes it durable before it is answered.
   *
   * @param failed whether an answer is an error. A request with one is kept only if it mined a block, as a reverting
   * transaction does.
   */
  async record<T>(
    request: Request,
    entry: { method: string; params: unknown },
    run: () => Promise<T>,
    failed: (answer: T) => boolean,
  ): Promise<T> {
    const before = await head(request);
    const outcome = await run().then(
      (answer) => ({ answer, refused: failed(answer) }),
      (error: unknown) => ({ error, refused: true }),
    );
    const after = await head(request);
    if (!outcome.refused || after.hash !== before.hash) await this.#append(request, entry, before, after);
    if ("error" in outcome) throw outcome.error;
    return outcome.answer;
  }

  close(): void {
    if (this.#descriptor >= 0) closeSync(this.#descriptor);
    this.#descriptor = -1;
  }

  async #append(
    request: Request,
    { method, params }: { method: string; params: unknown },
    before: Head,
    after: Head,
  ): Promise<void> {
    const entry: JournalEntry = { method, params, head: after.hash };
    if (after.hash !== before.hash) {
      const first = (await request("eth_getBlockByNumber", [
        `0x${(BigInt(before.number) + 1n).toString(16)}`,
        false,
      ])) as Head | null;
      if (first) entry.timestamp = Number(first.timestamp);
    }
    writeSync(this.#descriptor, `${JSON.stringify(entry)}\n`);
    fsyncSync(this.#descriptor);
  }

  #read(): JournalEntry[] {
    if (!existsSync(this.#file)) return [];
    const text = readFileSync(this.#file, "utf8");
    // The process was killed while it wrote what follows the last newline; that request was never answered.
    const whole = text.slice(0, text.lastIndexOf("\n") + 1);
    if (whole.length < text.length) truncateSync(this.#file, Buffer.byteLength(whole));
    return whole
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as JournalEntry);
  }
}

async function head(request: Request): Promise<Head> {
  return (await request("eth_getBlockByNumber", ["latest", false])) as Head;
}

/** Replayed timestamps leave the node's clock in the past; moves it to the present, never back. */
async function catchUpWithClock(request: Request): Promise<void> {
  const { timestamp } = await head(request);
  const behind = Math.floor(Date.now() / 1000) - Number(timestamp);
  if (behind > 0) await request("evm_increaseTime", [behind]);
}
