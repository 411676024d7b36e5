import { filterBounds } from "../outbox/event-filter.ts";
import { finalities } from "../outbox/event-row.ts";
import { eventFamilies } from "../outbox/event-types.ts";
import { date, integer, type Json, nullableText, object, operation, path, query, text } from "./openapi-parts.ts";

const names = { type: "array", items: text };
const filter = {
  types: {
    type: "array",
    maxItems: filterBounds.types,
    items: text,
    description: `names or beginnings of names: ${Object.keys(eventFamilies).join(", ")}`,
  },
  chains: { ...names, maxItems: filterBounds.chains },
  contracts: { ...names, maxItems: filterBounds.contracts },
  accounts: { ...names, maxItems: filterBounds.accounts, description: "sender or receiver of a movement" },
  tokenIds: { ...names, maxItems: filterBounds.tokenIds, description: "whole numbers as text" },
  finality: { enum: finalities },
};
const input = { type: "object", properties: { url: text, description: text, ...filter } };
const webhook = object({
  id: text,
  url: text,
  description: text,
  ...filter,
  state: { enum: ["enabled", "paused", "disabled"] },
  disabledReason: { type: ["string", "null"], description: "gone: it answered 410; failing: for five days; backlog" },
  failingSince: nullableText,
  publicKey: { type: "string", description: "whpk_…: of the v1a signatures" },
  createdAt: date,
});
const secret = { type: "string", description: "whsec_…, shown in this answer only" };
const attempt = object({
  attempt: integer,
  at: date,
  status: { type: ["integer", "null"] },
  fault: { type: ["string", "null"], description: "why there was no answer" },
  milliseconds: integer,
  answer: { type: ["string", "null"], description: "its first kilobyte" },
});
const delivery = object({
  id: text,
  eventId: text,
  type: text,
  sequence: nullableText,
  state: { enum: ["pending", "delivered", "dead"] },
  attempts: integer,
  nextAt: nullableText,
  createdAt: date,
  tries: { type: "array", items: attempt },
});
const id = path("id", { type: "string", pattern: "^wh_[0-9a-f]{32}$" });
const list = (name: string, description: string) => ({
  ...query(name, { type: "array", items: text }, description),
  ...{ style: "form", explode: true },
});

/** The operations of `/v1`: events and webhooks. */
export function eventPaths(): Json {
  const one = (summary: string) => operation(summary, [id], { webhook }, ["not_found"]);
  return {
    "/v1/events": {
      get: {
        summary: "A stream of events (text/event-stream); the id of each is a place to resume from",
        parameters: [
          list("types", "names or beginnings of names"),
          list("chain", "names of chains"),
          list("contract", "addresses"),
          list("account", "sender or receiver"),
          list("tokenId", "whole numbers"),
          query("finality", { enum: finalities, default: "latest" }, "when a movement is told"),
          query("after", text, "the id of the last event that you have; the header Last-Event-ID does the same"),
        ],
        responses: {
          "200": { description: "Events until you leave", content: { "text/event-stream": { schema: text } } },
          default: {
            description: "What went wrong, by code",
            content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
          },
        },
      },
    },
    "/v1/webhooks": {
      get: operation("Endpoints of the account", [], { webhooks: { type: "array", items: webhook } }, []),
      post: operation("Make an endpoint; needs the scope admin", [], { webhook, secret }, ["plan_limit_exceeded"], {
        ...input,
        required: ["url"],
      }),
    },
    "/v1/webhooks/{id}": {
      get: one("One endpoint"),
      patch: operation("Change what is given; a list replaces a list", [id], { webhook }, ["not_found"], input),
      delete: one("Delete it with what waits for it"),
    },
    "/v1/webhooks/{id}/pause": { post: one("Stop sending; events wait") },
    "/v1/webhooks/{id}/resume": { post: one("Go on sending, also after it was disabled") },
    "/v1/webhooks/{id}/rotate": {
      post: operation("A new secret; both are valid for a while", [id], { webhook, secret }, ["not_found"], {
        type: "object",
        properties: { overlapSeconds: { type: "integer", minimum: 0, maximum: 604_800, default: 86_400 } },
      }),
    },
    "/v1/webhooks/{id}/test": { post: operation("Send a test event", [id], { eventId: text }, ["not_found"]) },
    "/v1/webhooks/{id}/deliveries": {
      get: operation(
        "The newest 50 deliveries with their tries",
        [
          id,
          query("state", delivery.properties["state"] as Json, "only these"),
          query("before", text, "id of the last one of the page before"),
        ],
        { deliveries: { type: "array", items: delivery } },
        ["not_found"],
      ),
    },
    "/v1/webhooks/{id}/replay": {
      post: operation("Send events again, with their ids", [id], { replayed: integer }, ["not_found"], {
        type: "object",
        properties: {
          eventId: text,
          since: date,
          until: date,
          fromBlock: integer,
          toBlock: integer,
          failed: { type: "boolean", description: "all that was given up" },
        },
      }),
    },
  };
}
