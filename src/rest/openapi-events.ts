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
  verificationTry: attempt.nullable().describe("The last attempt to send the challenge; null if there was none."),
});
const webhookAnswer = webhook.describe("The endpoint.");
const secret = text.describe("Secret, `whsec_…`, that verifies `v1` signatures. It is shown only in this answer.");
const deliveryState = z.enum(["pending", "delivered", "dead"]);
const delivery = z.object({
  ...membersOf(deliveryMembers),
  tries: z.array(attempt).describe("The delivery attempts, oldest first."),
});
const body = (fields: Fields) => z.object(bodyMembers(fields));
const id = path("id", z.string().regex(/^wh_[0-9a-f]{32}$/), "Id of the endpoint: `wh_` and 32 hex digits.");
const repeated = (name: string, description: string): Json => ({
  ...query(name, z.array(text), `${description}. Repeat the parameter, or separate the values with commas.`),
  ...{ style: "form", explode: true },
});

/** The operations of `/v1`: events and webhooks. */
export function eventPaths(): Json {
  const one = (summary: string) => operation(summary, [id], { webhook: webhookAnswer }, ["not_found"]);
  return {
    "/v1/events": {
      get: {
        summary: "Stream events (text/event-stream), resumable from the id of any event",
        parameters: [
          repeated("types", "Event types, or prefixes of them"),
          repeated("chain", "Names of chains"),
          repeated("contract", "Addresses of contracts"),
          repeated("account", "Addresses of senders or recipients of transfers"),
          repeated("tokenId", "Token ids, decimal numbers"),
          ...queryParameters({ finality: { ...filterFields.finality, default: "latest" } }),
          query(
            "after",
            text,
            "Id of the last event you have; the stream resumes after it. The header `Last-Event-ID` does the same and takes precedence.",
          ),
        ],
        responses: {
          "200": {
            description: "Events until the client disconnects",
            content: { "text/event-stream": { schema: { type: "string" } } },
          },
          default: anyFailure(),
        },
      },
    },
    "/v1/webhooks": {
      get: operation("List the endpoints", [], {
        webhooks: z.array(webhook).describe("Endpoints, oldest first."),
      }),
      post: operation(
        "Create an endpoint; requires the scope admin",
        [],
        { webhook: webhookAnswer, secret },
        ["plan_limit_exceeded"],
        body({ ...newWebhookFields, ...filterFields }),
      ),
    },
    "/v1/webhooks/{id}": {
      get: one("Get an endpoint"),
      patch: operation(
        "Change the given settings; a list replaces a list",
        [id],
        { webhook: webhookAnswer },
        ["not_found", "plan_limit_exceeded"],
        body({ ...webhookFields, ...filterFields }),
      ),
      delete: one("Delete an endpoint and its waiting messages"),
    },
    "/v1/webhooks/{id}/pause": { post: one("Pause an endpoint; its events wait") },
    "/v1/webhooks/{id}/resume": { post: one("Resume a paused or disabled endpoint") },
    "/v1/webhooks/{id}/verify": { post: one("Send the challenge again") },
    "/v1/webhooks/{id}/rotate": {
      post: operation(
        "Create a new secret; both are valid for a while",
        [id],
        { webhook: webhookAnswer, secret },
        ["not_found"],
        body(rotateFields),
      ),
    },
    "/v1/webhooks/{id}/test": {
      post: operation(
        "Send a test event, with test: true",
        [id],
        { eventId: text.describe("Id of the test event.") },
        ["not_found", "webhook_unverified"],
        body(testFields),
      ),
    },
    "/v1/webhooks/{id}/deliveries": {
      get: operation(
        "List the newest 50 deliveries with their attempts",
        [
          id,
          query("state", deliveryState, "Only deliveries in this state."),
          query("before", text, "Id of the last delivery of the previous page, to get older ones."),
        ],
        { deliveries: z.array(delivery).describe("Deliveries, newest first; up to 50.") },
        ["not_found"],
      ),
    },
    "/v1/webhooks/{id}/replay": {
      post: operation(
        "Send events again, with the same ids",
        [id],
        { replayed: integer.describe("Number of events that are sent again, without those that already wait.") },
        ["not_found", "webhook_unverified"],
        body(replayFields),
      ),
    },
  };
}
