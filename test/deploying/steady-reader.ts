import { setTimeout as sleep } from "node:timers/promises";

export interface Reply {
  /** 0 when there was no answer at all. */
  status: number;
  retryAfter: string | null;
  /** As JSON, or null when it was none. */
  body: Record<string, unknown> | null;
}

/** A client that reads all the time through the installation's front, and keeps every answer. */
export class SteadyReader {
  readonly replies: Reply[] = [];
  #running = true;
  readonly #ended: Promise<void>;

  constructor(url: string, key: string) {
    this.#ended = this.#read(url, key);
  }

  /** Ends it. @returns the answers that were not 200. */
  async stop(): Promise<Reply[]> {
    this.#running = false;
    await this.#ended;
    return this.replies.filter(({ status }) => status !== 200);
  }

  async #read(url: string, key: string): Promise<void> {
    while (this.#running) {
      this.replies.push(await ask(url, key));
      await sleep(60);
    }
  }
}

async function ask(url: string, key: string): Promise<Reply> {
  try {
    const response = await fetch(url, { headers: { Authorization: key }, signal: AbortSignal.timeout(30_000) });
    const text = await response.text();
    const body = parse(text);
    return { status: response.status, retryAfter: response.headers.get("retry-after"), body };
  } catch {
    return { status: 0, retryAfter: null, body: null };
  }
}

function parse(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return null;
  }
}
