import type { Context } from "hono";
import { requireScope } from "../accounts/admit.ts";
import { authenticate } from "../accounts/authenticate.ts";
import { operationOfRoute } from "../accounts/operations.ts";
import { ServiceError } from "../errors/errors.ts";
import { readFilter, readPlace } from "../events/event-input.ts";
import { openStream, type StreamItem } from "../events/open-stream.ts";
import type { EventStreams } from "../http/event-streams.ts";
import { rawHeaderValues } from "../http/headers.ts";
import type { Services } from "../services.ts";
import { nok } from "./answer.ts";
import type { V0App, V0Env } from "./app.ts";

/** Filter members by their parameter names; each parameter may repeat. */
const lists = {
  types: ["types", "type"],
  chains: ["chain"],
  contracts: ["contract"],
  accounts: ["account"],
  tokenIds: ["tokenId"],
} as const;

const known: ReadonlySet<string> = new Set([...Object.values(lists).flat(), "finality", "after"]);

/** `GET /events`: server-sent events whose ids are positions to resume from. */
export function addEvents(app: V0App, services: Services, streams: EventStreams): void {
  app.get("/events", async (c) => {
    const query = new URL(c.req.url).searchParams;
    for (const name of query.keys())
      if (!known.has(name))
        throw new ServiceError("value_error", `"${name.slice(0, 40)}" is no parameter of this stream`, { field: name });
    const filter = readFilter(services, {
      ...Object.fromEntries(Object.entries(lists).map(([member, names]) => [member, valuesOf(query, names)])),
      finality: query.get("finality") ?? undefined,
    });
    // The header that a browser sends when it reconnects is newer than the URL it started with.
    const place = c.req.header("last-event-id") || query.get("after");
    const events = await openStream(services, c.get("session"), filter, place ? readPlace(place) : null, true);
    return answerStream(c, services, streams, events);
  });
}

/** A parameter that repeats, or has comma-separated values. */
function valuesOf(query: URLSearchParams, names: readonly string[]): string[] {
  return names.flatMap((name) => query.getAll(name)).flatMap((value) => value.split(",").filter(Boolean));
}

type Sent = StreamItem | { kind: "error"; error: ServiceError };

function answerStream(
  c: Context<V0Env>,
  services: Services,
  streams: EventStreams,
  events: AsyncGenerator<StreamItem, void>,
): Response {
  const requestId = c.get("requestId");
  const operation = operationOfRoute("GET", c.req.path);
  return streams.answer(c.env, requestId, c.get("rateHeaders"), {
    events,
    textOf: async (item) => await textOf(c, item as Sent, requestId),
    eventOf: (error): Sent => ({ kind: "error", error }),
    check: async () => {
      const session = await authenticate(services, rawHeaderValues(c.env.incoming, "authorization"), requestId);
      requireScope(session, operation);
    },
    frames: { next: (item, text) => frameOf(item as Sent, text), end: "" },
  });
}

async function textOf(c: Context<V0Env>, item: Sent, requestId: string): Promise<string> {
  if (item.kind === "place") return "";
  if (item.kind === "event") return item.event.body;
  if (item.kind === "error") return JSON.stringify(await nok(c, item.error, requestId).json());
  const data = { asked: String(item.asked), continuesAfter: String(item.sequence) };
  return JSON.stringify({ type: "events.expired", timestamp: new Date().toISOString(), data });
}

/** JSON text has no line breaks, so it is one line of data. The event's name is its type. */
function frameOf(item: Sent, text: string): string {
  // The client stores the id for reconnecting, and dispatches no event (HTML, 9.2.6: an event without data).
  if (item.kind === "place") return `id: ${item.sequence}\n\n`;
  if (item.kind === "error") return `event: error\ndata: ${text}\n\n`;
  const name = item.kind === "event" ? item.event.row.type : "events.expired";
  return `id: ${item.sequence}\nevent: ${name}\ndata: ${text}\n\n`;
}
