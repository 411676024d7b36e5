import type { ServerResponse } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { ServiceError } from "../errors/errors.ts";
import { withoutSpan } from "../telemetry/span.ts";
import { corsHeaders } from "./common-headers.ts";

/** What a stream sends, and how it is judged while it is open. */
export interface EventSource {
  events: AsyncIterator<unknown, unknown>;
  /** The JSON text of an event. */
  textOf(event: unknown): Promise<string> | string;
  /** The event that tells why the stream ends. */
  eventOf(error: ServiceError): unknown;
  /** Whether the account may still read the stream. @throws ServiceError when not. */
  check(): Promise<void>;
  /** How an event and the end are written; that of the GraphQL over SSE protocol when absent. */
  frames?: Frames;
}

interface Frames {
  /** @param text the event's JSON. */
  next(event: unknown, text: string): string;
  end: string;
}

const graphqlFrames: Frames = { next: (_event, text) => nextEvent(text), end: "event: complete\ndata:\n\n" };

interface Times {
  /** Between two lines that keep the connection open through proxies, and find a client that is gone. */
  pingMs: number;
  /** Between two checks of the caller's key. */
  checkMs: number;
  /** How long a stream goes on while a check cannot be made, because the database is away. */
  uncheckedMs: number;
  /** How long a client may leave what was written to it unread. */
  unreadMs: number;
}

const streams = new WeakSet<ServerResponse>();

/** Whether an answer became a stream. */
export function isStream(response: ServerResponse): boolean {
  return streams.has(response);
}

/** Why a stream ends before its source does; null: its client has left. */
type Ending = ServiceError | null;

/**
 * The open event streams of a server. Each is written straight on Node's response by a loop of its own, which was begun
 * within its request: so the request's tenant and span hold for every event.
 *
 * The form is that of "distinct connections mode" of the GraphQL over SSE protocol
 * (github.com/enisdenjo/graphql-sse, PROTOCOL.md): events `next`, and `complete` at the end.
 */
export class EventStreams {
  readonly #times: Times;
  readonly #open = new Set<(ending: Ending) => void>();
  #closing = false;

  constructor(times: Partial<Times> = {}) {
    this.#times = { pingMs: 12_000, checkMs: 5_000, uncheckedMs: 30_000, unreadMs: 30_000, ...times };
  }

  /** Ends all streams, and each that is opened from now on, with a word to their clients that they may come again. */
  endAll(): void {
    this.#closing = true;
    for (const end of this.#open) end(leaving());
  }

  /** Answers a request with a stream, on Node's own response. @returns what tells Hono that there is nothing left to send. */
  answer(
    { outgoing }: HttpBindings,
    requestId: string,
    rateHeaders: Record<string, string> | undefined,
    source: EventSource,
  ): Response {
    const headers = { ...corsHeaders, "x-request-id": requestId, ...rateHeaders };
    // What polls for as long as a client stays would be one trace without an end.
    void withoutSpan(() => this.serve(outgoing as ServerResponse, headers, source));
    const response = new Response(null, { headers: RESPONSE_ALREADY_SENT.headers });
    // A response that was never looked at takes a shortcut in @hono/node-server that does not see the header.
    void response.body;
    return response;
  }

  /** Writes a stream until its source ends, its client leaves, or its caller may not read it any more. Never fails. */
  async serve(response: ServerResponse, headers: Record<string, string | number>, source: EventSource): Promise<void> {
    const { promise: ended, resolve: end } = Promise.withResolvers<Ending>();
    this.#open.add(end);
    streams.add(response);
    response.once("close", () => end(null));
    // A write to a client that has just gone raises this as well.
    response.on("error", () => end(null));
    if (response.destroyed || response.socket?.destroyed) end(null);
    else if (this.#closing) end(leaving());
    const timers = this.#watch(response, source, end);
    try {
      // Compression or buffering on the way would keep events back (X-Accel-Buffering: nginx).
      const kind = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache, no-transform" };
      response.writeHead(200, { ...headers, ...kind, "x-accel-buffering": "no" });
      // Some clients see the headers only when something follows them.
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

/** Whether the client reads what was written, within a time: one that does not would hold its events and its place here. */
async function isRead(response: ServerResponse, withinMs: number): Promise<boolean> {
  return await new Promise((done) => {
    const settle = (read: boolean) => {
      clearTimeout(timer);
      // A stream waits many times: what stayed behind each time would grow with it.
      response.removeListener("drain", drained).removeListener("close", closed);
      done(read);
    };
    const timer = setTimeout(() => settle(false), withinMs);
    const drained = () => settle(true);
    const closed = () => settle(false);
    response.once("drain", drained).once("close", closed);
  });
}

/** The next event; where the source fails with a word for its reader, the end with that word. */
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

/** What was revoked a moment ago must not get the event that comes now. */
async function refusalOf(source: EventSource): Promise<ServiceError | null> {
  try {
    await source.check();
    return null;
  } catch (error) {
    // A check that could not be made is made again, and its time is bounded.
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
