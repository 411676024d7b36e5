import { followEvents } from "../../../bin/events/follow-events.ts";
import { wait } from "../../setup/wait.ts";
import { CuttableLink } from "../cuttable-link.ts";
import { type EventBody, MovementBook } from "./movement-book.ts";

/** A client of `GET /v1/events` whose connection is cut again and again, and which resumes by the last id. */
export class CutFollower {
  readonly book = new MovementBook();
  readonly sequences: bigint[] = [];
  /** Events whose number is not greater than the one before. */
  disorder = 0;
  expired = 0;
  cuts = 0;
  opened = 0;
  refused: unknown = null;
  readonly #link: CuttableLink;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  private constructor(link: CuttableLink, key: string, query: URLSearchParams) {
    this.#link = link;
    this.#running = this.#follow({ url: link.url, key }, query).catch((error: unknown) => {
      this.refused = error;
    });
  }

  static async start(url: string, key: string, query: URLSearchParams): Promise<CutFollower> {
    const follower = new CutFollower(await CuttableLink.start(url), key, query);
    await wait("a stream", () => follower.opened > 0 || follower.refused);
    if (follower.opened === 0) throw new Error(`no stream: ${String(follower.refused)}`);
    return follower;
  }

  cut(): void {
    this.#link.cut();
    this.#link.mend();
    this.cuts += 1;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.#link.close();
  }

  async #follow(service: { url: string; key: string }, query: URLSearchParams): Promise<void> {
    for await (const item of followEvents(service, query, null, this.#stop.signal)) {
      if (item.kind === "open") this.opened += 1;
      if (item.kind !== "event") continue;
      if (item.type === "events.expired") {
        this.expired += 1;
        continue;
      }
      const sequence = BigInt(item.sequence);
      if (sequence <= (this.sequences.at(-1) ?? 0n)) this.disorder += 1;
      this.sequences.push(sequence);
      this.book.take(JSON.parse(item.body) as EventBody);
    }
  }
}
