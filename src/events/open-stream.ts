import type { Caller } from "../auth/caller.ts";
import { endableStream } from "../endable-stream.ts";
import { ServiceError } from "../errors/errors.ts";
import type { FedEvent } from "../outbox/event-feed.ts";
import type { EventFilter } from "../outbox/event-filter.ts";
import { readExtent, readPast, wantEvents } from "../outbox/read-events.ts";
import type { Services } from "../services.ts";

/** An item of a stream. */
export type StreamItem =
  | { kind: "event"; sequence: bigint; event: FedEvent }
  /** No event up to here is left to be sent: a client without events resumes here. */
  | { kind: "place"; sequence: bigint }
  /** The client was away for too long: the stream continues after `sequence`, and the client reads the state again. */
  | { kind: "expired"; sequence: bigint; asked: bigint };

/** The most that may wait for a client that does not read. */
const mostWaiting = { events: 1_000, bytes: 1_048_576 };
/** Events, of any filter, that one statement scans when a client resumes. */
const scannedAtOnce = 5_000;
/** How long events are still recorded after a stream has ended, so that it can be resumed. */
const keptSeconds = 86_400;
const renewMs = 3_600_000;
/** Interval of the positions that a stream without events reports. */
const placeMs = 60_000;
/** This many events count as one request of the plan. */
const eventsOfRequest = 100;

/**
 * Streams events as they are committed, from a position in their order or from now on.
 *
 * @param after the sequence of the last event that the client has; null: from now on.
 * @param places whether the stream reports its position: once at the beginning, and while there are no events.
 * @throws ServiceError as `StreamPermits` for too many streams. A running stream ends with `service_unavailable` if its
 *   client reads too slowly; the client can resume from its last event.
 */
export async function openStream(
  services: Services,
  caller: Caller,
  filter: EventFilter,
  after: bigint | null,
  places = false,
): Promise<AsyncGenerator<StreamItem, void>> {
  const { pool, feed, chains, auth } = services;
  const release = auth.streams.take(caller.accountId);
  try {
    const ids = chains.map(({ id }) => id);
    const extent = await readExtent(pool, filter, ids);
    await wantEvents(pool, filter, ids, keptSeconds);
    await feed.start();
    // A number that was never assigned is from another installation, or from before a backup was restored.
    const missed = after !== null && (after < extent.complete || after > extent.head);
    const start = after === null ? feed.position : missed ? extent.complete : after;
    const beginning = { accountId: caller.accountId, filter, start, missed: missed ? after : null, places };
    return endableStream((signal) => counted(services, caller, follow(services, beginning, signal)), release);
  } catch (error) {
    release();
    throw error;
  }
}

interface Beginning {
  accountId: string;
  filter: EventFilter;
  start: bigint;
  /** The position from which a client wanted to resume although it had missed events. */
  missed: bigint | null;
  places: boolean;
}

async function* follow(
  services: Services,
  { accountId, filter, start, missed, places }: Beginning,
  signal: AbortSignal,
): AsyncGenerator<StreamItem, void> {
  const { feed, pool } = services;
  if (missed !== null) yield { kind: "expired", sequence: start, asked: missed };
  else if (places) yield { kind: "place", sequence: start };
  let place = start;
  // The last check and `listen` run in the same turn of the event loop, so no event can come between them.
  while (place < feed.position && !signal.aborted) {
    const { rows, reached } = await readPast(pool, filter, {
      after: place,
      upto: feed.position,
      scanned: scannedAtOnce,
    });
    for (const row of rows) yield { kind: "event", sequence: row.sequence, event: feed.toEvent(row) };
    place = reached;
  }
  const waiting = new Waiting(signal);
  // A client that comes from another process may have events that this one has not read yet.
  const take = (event: FedEvent) => {
    if (event.row.sequence > start) waiting.push(event);
  };
  const end = feed.listen({ accountId, filter, take });
  const ids = services.chains.map(({ id }) => id);
  const renewal = setInterval(() => {
    void wantEvents(pool, filter, ids, keptSeconds).catch(() => undefined);
  }, renewMs);
  const telling = places ? setInterval(() => waiting.reach(feed.position), placeMs) : undefined;
  try {
    for (let item = await waiting.shift(); item; item = await waiting.shift()) yield item;
  } finally {
    clearInterval(renewal);
    clearInterval(telling);
    end();
  }
}

async function* counted(services: Services, caller: Caller, items: AsyncGenerator<StreamItem, void>) {
  let sent = 0;
  for await (const item of items) {
    if (item.kind === "event") sent += 1;
    if (item.kind === "event" && sent % eventsOfRequest === 0 && caller.keyId !== undefined)
      services.auth.usage.add(caller.accountId, caller.keyId, 1);
    yield item;
  }
}

/** Events that a client has not read yet. */
class Waiting {
  readonly #signal: AbortSignal;
  #events: FedEvent[] = [];
  #bytes = 0;
  #overflown = false;
  /** The position that was reached without a further event. */
  #place: bigint | null = null;
  #wake: () => void = () => undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#wake(), { once: true });
  }

  push(event: FedEvent): void {
    if (this.#overflown) return;
    this.#events.push(event);
    this.#bytes += event.body.length;
    if (this.#events.length > mostWaiting.events || this.#bytes > mostWaiting.bytes) {
      this.#overflown = true;
      this.#events = [];
    }
    this.#wake();
  }

  /** @param place the position up to which all events were pushed. */
  reach(place: bigint): void {
    if (this.#events.length > 0 || this.#overflown) return;
    this.#place = place;
    this.#wake();
  }

  /** @returns null when the stream has ended. @throws ServiceError for a client that was too slow. */
  async shift(): Promise<StreamItem | null> {
    for (;;) {
      if (this.#signal.aborted) return null;
      if (this.#overflown)
        throw new ServiceError(
          "service_unavailable",
          `this stream was read too slowly: ${mostWaiting.events} events or ${mostWaiting.bytes} bytes waited; resume it from the last id that you have`,
          { retryAfterSeconds: 1 },
        );
      if (this.#place !== null) {
        const sequence = this.#place;
        this.#place = null;
        return { kind: "place", sequence };
      }
      const event = this.#events.shift();
      if (event) {
        this.#bytes -= event.body.length;
        return { kind: "event", sequence: event.row.sequence, event };
      }
      await new Promise<void>((done) => {
        this.#wake = done;
      });
    }
  }
}
