import type { ServerResponse } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { ServiceError } from "../errors/errors.ts";
import { withoutSpan } from "../telemetry/span.ts";
import { corsHeaders } from "./common-headers.ts";

/** The events of a stream, and the check of its caller while it is open. */
export interface EventSource {
  events: AsyncIterator<unknown, unknown>;
  /** The JSON text of an event. */
  textOf(event: unknown): Promise<string> | string;
  /** The event that reports why the stream ends. */
  eventOf(error: ServiceError): unknown;
  /** Checks whether the account may still read the stream. @throws ServiceError if not. */
  check(): Promise<void>;
  /** How events and the end are written; by default as in the GraphQL over SSE protocol. */
  frames?: Frames;
}

interface Frames {
  /** @param text the event's JSON. */
  next(event: unknown, text: string): string;
  end: string;
}

const graphqlFrames: Frames = { next: (_event, text) => nextEvent(text), end: "event: complete\ndata:\n\n" };

interface Times {
  /** Interval of the comment lines that keep the connection open through proxies and detect clients that are gone. */
  pingMs: number;
  /** Interval of the checks of the caller's key. */
  checkMs: number;
  /** How long a stream continues while checks fail because the database is away. */
  uncheckedMs: number;
  /** How long a client may leave written data unread. */
  unreadMs: number;
}

const streams = new WeakSet<ServerResponse>();

/** Whether an answer became a stream. */
export function isStream(response: ServerResponse): boolean {
  return streams.has(response);
}

/** Why a stream ends before its source does; null: the client has left. */
type Ending = ServiceError | null;

/**
 * The open event streams of a server. Each is written directly to Node's response by a loop that started within its
 * request, so the request's tenant and span apply to every event.
 *
 * The format is "distinct connections mode" of the GraphQL over SSE protocol (github.com/enisdenjo/graphql-sse,
 * PROTOCOL.md): events `next`, and `complete` at the end.
 */
export class EventStreams {
  readonly #times: Times;
  readonly #open = new Set<(ending: Ending) => void>();
  #closing = false;

  constructor(times: Partial<Times> = {}) {
    this.#times = { pingMs: 12_000, checkMs: 5_000, uncheckedMs: 30_000, unreadMs: 30_000, ...times };
  }

  /** Ends all streams, and each one opened later, with an error that tells clients to reconnect. */
  endAll(): void {
    this.#closing = true;
    for (const end of this.#open) end(leaving());
  }

  /** Answers a request with a stream on Node's own response. @returns a response that tells Hono to send nothing. */
  answer(
    { outgoing }: HttpBindings,
    requestId: string,
    rateHeaders: Record<string, string> | undefined,
    source: EventSource,
  ): Response {
    const headers = { ...corsHeaders, "x-request-id": requestId, ...rateHeaders };
    // Otherwise the polling would be one endless trace for as long as the client stays.
    void withoutSpan(() => this.serve(outgoing as ServerResponse, headers, source));
    const response = new Response(null, { headers: RESPONSE_ALREADY_SENT.headers });
    // @hono/node-server sends a response whose body was never read by a shortcut that ignores the header.
    void response.body;
    return response;
  }

  /** Writes a stream until its source ends, its client leaves, or its caller may no longer read it. Never fails. */
  async serve(response: ServerResponse, headers: Record<string, string | number>, source: EventSource): Promise<void> {
    const { promise: ended, resolve: end } = Promise.withResolvers<Ending>();
    this.#open.add(end);
    streams.add(response);
    response.once("close", () => end(null));
    // A write to a client that has just left also raises an error.
    response.on("error", () => end(null));
    if (response.destroyed || response.socket?.destroyed) end(null);
    else if (this.#closing) end(leaving());
    const timers = this.#watch(response, source, end);
    try {
      // Compression or buffering on the way would delay events (X-Accel-Buffering: nginx).
      const kind = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache, no-transform" };
      response.writeHead(200, { ...headers, ...kind, "x-accel-buffering": "no" });
      // Some clients see the headers only once something follows them.
      response.write(":\n\n");
      await send(response, source, ended, this.#times.unreadMs);
    } catch {
      response.destroy();
    } finally {
      for (const timer of timers) clearInterval(timer);
      this.#open.delete(end);
      Promise.resolve(source.events.return?.()).catch(() => undefined);
    }
  }

  #watch(response: ServerResponse, source: EventSource, end: (ending: Ending) => void): NodeJS.Timeout[] {
    const { pingMs, checkMs, uncheckedMs } = this.#times;
    let checkedAt = performance.now();
    const check = async () => {
      const askedAt = performance.now();
      try {
        await source.check();
        checkedAt = askedAt;
      } catch (error) {
        if (error instanceof ServiceError && !error.retryable) end(error);
        else if (performance.now() - checkedAt > uncheckedMs) end(unchecked());
      }
    };
    const ping = () => {
      if (response.writableLength === 0) response.write(":\n\n");
    };
    return [setInterval(ping, pingMs), setInterval(() => void check(), checkMs)];
  }
}

async function send(
  response: ServerResponse,
  source: EventSource,
  ended: Promise<Ending>,
  unreadMs: number,
): Promise<void> {
  const stop = ended.then((ending) => ({ ending }));
  const { frames = graphqlFrames } = source;
  const textOf = async (event: unknown) => frames.next(event, await source.textOf(event));
  const finish = async (refusal: ServiceError | null) => {
    if (refusal) response.write(await textOf(source.eventOf(refusal)));
    response.end(frames.end);
  };
  for (;;) {
    const turn = await Promise.race([stop, nextOf(source)]);
    if ("ending" in turn) return turn.ending ? await finish(turn.ending) : undefined;
    if (turn.done) return await finish(turn.value);
    const refusal = await refusalOf(source);
    if (refusal) return await finish(refusal);
    const room = response.write(await textOf(turn.value));
    if (!room && !(await Promise.race([stop, isRead(response, unreadMs)]))) throw new Error("nobody reads this stream");
  }
}

/** Whether the client reads what was written, in time: one that does not would occupy memory and a stream slot. */
async function isRead(response: ServerResponse, withinMs: number): Promise<boolean> {
  return await new Promise((done) => {
    const settle = (read: boolean) => {
      clearTimeout(timer);
      // A stream waits many times, so listeners left behind each time would accumulate.
      response.removeListener("drain", drained).removeListener("close", closed);
      done(read);
    };
    const timer = setTimeout(() => settle(false), withinMs);
    const drained = () => settle(true);
    const closed = () => settle(false);
    response.once("drain", drained).once("close", closed);
  });
}

/** The next event; if the source fails with a ServiceError, the end with that error. */
async function nextOf({
  events,
}: EventSource): Promise<{ done: false; value: unknown } | { done: true; value: ServiceError | null }> {
  try {
    const { done, value } = await events.next();
    return done ? { done, value: null } : { done: false, value };
  } catch (error) {
    if (error instanceof ServiceError) return { done: true, value: error };
    throw error;
  }
}

/** A caller whose key was just revoked must not get the next event. */
async function refusalOf(source: EventSource): Promise<ServiceError | null> {
  try {
    await source.check();
    return null;
  } catch (error) {
    // A check that could not be made is repeated, for a bounded time.
    return error instanceof ServiceError && !error.retryable ? error : null;
  }
}

/** JSON text has no line breaks, so an event is one line of data. */
function nextEvent(text: string): string {
  return `event: next\ndata: ${text}\n\n`;
}

function leaving(): ServiceError {
  return new ServiceError("service_unavailable", "this server is being restarted; subscribe again", {
    retryAfterSeconds: 1,
  });
}

function unchecked(): ServiceError {
  return new ServiceError("service_unavailable", "your key could not be checked; subscribe again", {
    retryAfterSeconds: 5,
  });
}
