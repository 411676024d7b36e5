import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs } from "../../src/backoff.ts";
import { CommandError } from "../command-error.ts";
import type { ServiceAddress } from "../service-address.ts";
import { type Frame, readFrames } from "./read-frames.ts";

/** What happens to a stream that is followed. */
export type Followed =
  | { kind: "open" }
  /** @property body the JSON text of a webhook's body. */
  | { kind: "event"; sequence: string; type: string; body: string }
  | { kind: "lost"; reason: string; waitMs: number };

const pauses = { firstMs: 300, mostMs: 15_000, jitter: 0.3 };
/** The service sends something at least every 15 seconds. */
const silenceMs = 40_000;

/**
 * The service's events, after a known event or from now on. When a connection ends, another one continues at the same
 * position.
 *
 * @param query a filter, as `GET /v1/events` takes it.
 * @param after the sequence of the last known event; null: from now on.
 * @throws CommandError when the service refuses the stream.
 */
export async function* followEvents(
  service: ServiceAddress,
  query: URLSearchParams,
  after: string | null,
  signal: AbortSignal,
): AsyncGenerator<Followed, void> {
  let place = after;
  for (let failures = 0; !signal.aborted; ) {
    let reason = "the connection ended";
    const silence = new Silence(silenceMs);
    try {
      const body = await open(service, query, place, AbortSignal.any([signal, silence.signal]));
      silence.broken();
      let opened = false;
      for await (const frame of readFrames(silence.watch(body))) {
        failures = 0;
        if (frame.event === "error") {
          reason = reasonOf(frame);
          break;
        }
        place = frame.id ?? place;
        // The first frame says where the stream begins: from now on nothing is missed.
        if (!opened) yield { kind: "open" };
        opened = true;
        if (frame.data !== "") yield { kind: "event", sequence: frame.id ?? "", type: frame.event, body: frame.data };
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof CommandError) throw error;
      reason = silence.signal.aborted ? "the service was silent" : causeOf(error);
    } finally {
      silence.end();
    }
    failures += 1;
    const waitMs = backoffMs(failures, pauses);
    yield { kind: "lost", reason, waitMs };
    await sleep(waitMs, undefined, { signal }).catch(() => undefined);
  }
}

async function open(
  { url, key }: ServiceAddress,
  query: URLSearchParams,
  place: string | null,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const response = await fetch(`${url}/v1/events?${query}`, {
    headers: { Authorization: key, Accept: "text/event-stream", ...(place === null ? {} : { "Last-Event-ID": place }) },
    // A redirect could send the key to another host.
    redirect: "error",
    signal,
  });
  if (response.ok && response.body && response.headers.get("content-type")?.startsWith("text/event-stream"))
    // Node's streams are iterable; the types, which are the browser's, do not include that.
    return response.body as unknown as AsyncIterable<Uint8Array>;
  const text = (await response.text()).slice(0, 2_000);
  const message = messageOf(text) ?? `${response.status} ${text.slice(0, 200)}`;
  if (response.status === 429 || response.status >= 500) throw new Error(message);
  throw new CommandError(message);
}

/** Ends a connection that has been silent for too long: a connection that was cut on the way looks like a quiet one. */
class Silence {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(ms: number) {
    this.#timer = setTimeout(() => this.#controller.abort(), ms);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  broken(): void {
    this.#timer.refresh();
  }

  async *watch(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    for await (const part of body) {
      this.broken();
      yield part;
      // A slow reader does not mean a silent service.
      this.broken();
    }
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#controller.abort();
  }
}

function reasonOf({ data }: Frame): string {
  return messageOf(data) ?? data.slice(0, 200);
}

function messageOf(text: string): string | null {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: string } };
    return error?.message ?? null;
  } catch {
    return null;
  }
}

function causeOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code) : message;
}
