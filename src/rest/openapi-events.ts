import * as z from "zod";
import { filterFields, newWebhookFields, webhookFields } from "../events/event-input.ts";
import { deliveryMembers, replayFields, testFields } from "../events/webhook-deliveries.ts";
import { tryMembers, webhookMembers } from "../events/webhook-record.ts";
import { rotateFields } from "../events/webhooks.ts";
import type { Fields } from "../requests/fields.ts";
import { bodyMembers, queryParameters } from "./bodies.ts";
import { anyFailure, integer, type Json, membersOf, operation, path, query, text } from "./openapi-parts.ts";

const attempt = z.object(membersOf(tryMembers));
const webhook = z.object({
  ...membersOf(webhookMembers),
  verificationTry: attempt.nullable().describe("The last challenge that was sent to it; null: none was."),
});
const webhookAnswer = webhook.describe("The endpoint.");
const secret = text.describe("Secret, `whsec_…`, that verifies `v1` signatures; it is shown in this answer only.");
const deliveryState = z.enum(["pending", "delivered", "dead"]);
const delivery = z.object({
  ...membersOf(deliveryMembers),
  tries: z.array(attempt).describe("The tries, oldest first."),
});
const body = (fields: Fields) => z.object(bodyMembers(fields));
const id = path("id", z.string().regex(/^wh_[0-9a-f]{32}$/), "Id of the endpoint: `wh_` and 32 hex digits.");
const repeated = (name: string, description: string): Json => ({
  ...query(name, z.array(text), `${description}: repeat the parameter, or separate them by commas.`),
  ...{ style: "form", explode: true },
});

/** The operations of `/v1`: events and webhooks. */
export function eventPaths(): Json {
  const one = (summary: string) => operation(summary, [id], { webhook: webhookAnswer }, ["not_found"]);
  return {
    "/v1/events": {
      get: {
        summary: "A stream of events (text/event-stream); the id of each is a place to resume from",
        parameters: [
          repeated("types", "Types of events, or beginnings of their names"),
          repeated("chain", "Names of chains"),
          repeated("contract", "Addresses of contracts"),
          repeated("account", "Addresses that send or receive"),
          repeated("tokenId", "Token ids, decimal numbers"),
          ...queryParameters({ finality: { ...filterFields.finality, default: "latest" } }),
          query(
            "after",
            text,
            "Id of the last event that you have: the stream goes on after it; the header `Last-Event-ID` does the same and wins.",
          ),
        ],
        responses: {
          "200": {
            description: "Events until you leave",
            content: { "text/event-stream": { schema: { type: "string" } } },
          },
          default: anyFailure(),
        },
      },
    },
    "/v1/webhooks": {
      get: operation("Endpoints of the account", [], {
        webhooks: z.array(webhook).describe("Endpoints, oldest first."),
      }),
      post: operation(
        "Make an endpoint; needs the scope admin",
        [],
        { webhook: webhookAnswer, secret },
        ["plan_limit_exceeded"],
        body({ ...newWebhookFields, ...filterFields }),
      ),
    },
    "/v1/webhooks/{id}": {
      get: one("One endpoint"),
      patch: operation(
        "Change what is given; a list replaces a list",
        [id],
        { webhook: webhookAnswer },
        ["not_found", "plan_limit_exceeded"],
        body({ ...webhookFields, ...filterFields }),
      ),
      delete: one("Delete it with what waits for it"),
    },
    "/v1/webhooks/{id}/pause": { post: one("Stop sending; events wait") },
    "/v1/webhooks/{id}/resume": { post: one("Go on sending, also after it was disabled") },
    "/v1/webhooks/{id}/verify": { post: one("Ask it anew whether it wants messages, by a challenge") },
    "/v1/webhooks/{id}/rotate": {
      post: operation(
        "A new secret; both are valid for a while",
        [id],
        { webhook: webhookAnswer, secret },
        ["not_found"],
        body(rotateFields),
      ),
    },
    "/v1/webhooks/{id}/test": {
      post: operation(
        "Send an invented event, with test: true",
        [id],
        { eventId: text.describe("Id of the invented event.") },
        ["not_found", "webhook_unverified"],
        body(testFields),
      ),
    },
    "/v1/webhooks/{id}/deliveries": {
      get: operation(
        "The newest 50 deliveries with their tries",
        [
          id,
          query("state", deliveryState, "Only deliveries in this state."),
          query("before", text, "Id of the last delivery of the previous page: the list goes on after it."),
        ],
        { deliveries: z.array(delivery).describe("Deliveries, newest first; 50 at most.") },
        ["not_found"],
      ),
    },
    "/v1/webhooks/{id}/replay": {
      post: operation(
        "Send events again, with their ids",
        [id],
        { replayed: integer.describe("How many events are sent again; those that wait already are not counted.") },
        ["not_found", "webhook_unverified"],
        body(replayFields),
      ),
    },
  };
}
