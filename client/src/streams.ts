import { MintyardError } from "./error.ts";
import type { paths } from "./generated/openapi.ts";
import { isPassing, sleep } from "./repeat.ts";
import { searchOf } from "./rest.ts";
import {
  asAnswer,
  errorOfAnswer,
  type Open,
  originOf,
  type RequestOptions,
  readAnswer,
  retryAfterOf,
} from "./transport.ts";
import type { WebhookEvent } from "./webhooks.ts";

/** Sent to a client that was away for too long: read the current state again, and continue from there. */
interface EventsExpired {
  type: "events.expired";
  timestamp: string;
  data: { asked: string; continuesAfter: string };
}

/** An event of `GET /v1/events`, as a webhook gets it; `cursor` is the position after it, for `after`. */
export type StreamedEvent = (WebhookEvent | EventsExpired) & { cursor: string };

export type EventsQuery = NonNullable<paths["/v1/events"]["get"]["parameters"]["query"]>;

/** Input of an event stream. */
export interface EventsInput extends RequestOptions {
  query?: EventsQuery;
}

export interface StreamOptions {
  /** Milliseconds before a lost connection is reopened; 1,000 by default. */
  pauseMs?: number;
}

const accept = { Accept: "text/event-stream" };
/** No stream of this service has longer lines. */
const longestLine = 16_777_216;

/**
 * Yields events until the caller leaves the loop or the signal ends it. Reopens a lost connection after the last event.
 *
 * @throws MintyardError for failures that a retry cannot fix: a key that may not read, a wrong filter.
 */
export async function* streamEvents(
  open: Open,
  input: EventsInput = {},
  { pauseMs = 1_000 }: StreamOptions = {},
): AsyncGenerator<StreamedEvent, void> {
  const { query = {}, ...options } = input;
  let cursor = query.after;
  for (;;) {
    let wait = pauseMs;
    try {
      const path = `/v1/events${searchOf({ ...query, after: cursor })}`;
      for await (const message of openStream(open, "get", path, undefined, options)) {
        cursor = message.id ?? cursor;
        if (message.event === "error") throw errorOfEvent(message.data);
        if (message.data !== "") yield { ...JSON.parse(message.data), cursor: cursor ?? "" } as StreamedEvent;
      }
    } catch (error) {
      if (!isPassing(error)) throw error;
      wait = Math.max(wait, error.retryAfterMs ?? 0);
    }
    await sleep(wait, options.signal);
  }
}

/** Yields a subscription's results. @throws MintyardError for errors in a result, and for a lost connection. */
export async function* streamResults(
  open: Open,
  body: { query: string; variables: unknown },
  options?: RequestOptions,
): AsyncGenerator<GraphQLResult, void> {
  for await (const { event, data } of openStream(open, "post", "/graphql", body, options)) {
    if (event === "complete") return;
    if (event === "next") yield JSON.parse(data) as GraphQLResult;
  }
  throw new MintyardError("the stream ended before it was complete", {
    ...{ status: 0, code: "no_answer", fix: "Subscribe again; what happened meanwhile is in a query." },
  });
}

export interface GraphQLResult {
  data?: unknown;
  errors?: { message: string; extensions?: { code?: string; fix?: string; requestId?: string } }[];
}

interface Message {
  id: string | null;
  event: string;
  data: string;
}

async function* openStream(
  open: Open,
  method: string,
  path: string,
  body: unknown,
  options: RequestOptions = {},
): AsyncGenerator<Message, void> {
  const { signal } = options;
  const response = await open(method, path, body, { ...options, headers: { ...accept, ...options.headers } });
  const isStream = response.headers.get("Content-Type")?.startsWith("text/event-stream");
  if (!response.ok || !isStream || !response.body) throw await refusalOf(response, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await asAnswer(originOf(response), signal, reader.read());
      if (done) return;
      text += value;
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      if (text.length > longestLine) throw new TypeError("the stream has an event of more than 16 MiB");
      for (const block of blocks) yield messageOf(block);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** The error when there is no stream: REST has it in `error`, GraphQL in `errors`. */
async function refusalOf(response: Response, signal: AbortSignal | undefined): Promise<MintyardError> {
  const answered = await readAnswer(response, signal);
  const [first] = ((answered.body ?? {}) as GraphQLResult).errors ?? [];
  if (!first) return errorOfAnswer(answered);
  return new MintyardError(first.message, {
    ...{ status: answered.status, code: first.extensions?.code ?? "internal_error", fix: first.extensions?.fix },
    ...{ requestId: first.extensions?.requestId, retryAfterMs: retryAfterOf(answered.headers) },
  });
}

/** The lines of one event; lines that begin with a colon only keep the connection open. */
function messageOf(block: string): Message {
  const message: Message = { id: null, event: "message", data: "" };
  for (const line of block.split("\n")) {
    const [, name, value = ""] = /^(id|event|data): ?(.*)$/.exec(line) ?? [];
    if (name === "data") message.data += message.data === "" ? value : `\n${value}`;
    else if (name === "id" || name === "event") message[name] = value;
  }
  return message;
}

function errorOfEvent(data: string): MintyardError {
  const body = JSON.parse(data) as { error?: { status_code?: number } };
  return errorOfAnswer({ status: body.error?.status_code ?? 0, headers: new Headers(), body });
}
