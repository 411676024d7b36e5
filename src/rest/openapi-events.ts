import * as z from "zod";
import { eventTypeNames, mostInFilter } from "../events/event-input.ts";
import { sampleTypes } from "../events/sample-event.ts";
import { deliveryMembers } from "../events/webhook-deliveries.ts";
import { tryMembers, webhookMembers } from "../events/webhook-record.ts";
import {
  anyFailure,
  date,
  dateFormat,
  integer,
  type Json,
  membersOf,
  operation,
  path,
  query,
  text,
} from "./openapi-parts.ts";

const finalityWords =
  "`latest`: at once, with a retraction where the chain takes the movement back; `safe`: when its block is safe; `finalized`: when its block is final, and no retraction comes";
const finality = z.enum(["latest", "safe", "finalized"]);
const lists = (name: keyof typeof mostInFilter, what: string) =>
  z
    .array(text)
    .max(mostInFilter[name])
    .describe(`${what}, ${mostInFilter[name]} at most; an empty list does not narrow.`);
const filter = {
  types: lists("types", `Types of events, or beginnings of their names (${eventTypeNames.join(", ")})`),
  chains: lists("chains", "Names of chains"),
  contracts: lists("contracts", "Addresses of contracts"),
  accounts: lists("accounts", "Addresses that send or receive"),
  tokenIds: lists("tokenIds", "Token ids, whole numbers as text"),
  finality: finality.describe(`When a movement is sent. ${finalityWords}.`),
};
const endpointUrl = "http or https, at a public host and at port 80 or 443 unless the operator allows others";
const input = z
  .object({
    url: text.describe(`Address that messages are posted to, 2,000 characters at most: ${endpointUrl}.`),
    description: text.describe("Note for yourself, 500 characters at most; the default is empty."),
    ...filter,
    finality: finality.describe(`When a movement is sent, \`latest\` by default. ${finalityWords}.`),
  })
  .partial();
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
const rotation = z
  .object({
    overlapSeconds: z
      .int()
      .min(0)
      .max(604_800)
      .default(86_400)
      .describe("Seconds that the old secret is valid for as well, 0 to 604,800 (7 days); the default is a day."),
  })
  .partial();
const replayed = z
  .object({
    eventId: text.describe("Id of one event."),
    since: date.describe(`Events that were recorded at this time or later, ${dateFormat}.`),
    until: date.describe(`With \`since\`: events before this time, ${dateFormat}.`),
    fromBlock: integer.describe(
      "With `toBlock`: movements of this block and later ones, on every chain of the endpoint.",
    ),
    toBlock: integer.describe("With `fromBlock`: movements of this block and earlier ones."),
    failed: z.boolean().describe("`true`: all deliveries that are `dead`; the other members do not count then."),
  })
  .partial();
const tried = z
  .object({
    type: z
      .string()
      .default("webhook.test")
      .describe(`Type of the event, \`webhook.test\` by default: ${sampleTypes.join(", ")}.`),
  })
  .partial();
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
          query(
            "finality",
            finality.default("latest"),
            `When a movement is sent, \`latest\` by default. ${finalityWords}.`,
          ),
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
        input.required({ url: true }),
      ),
    },
    "/v1/webhooks/{id}": {
      get: one("One endpoint"),
      patch: operation(
        "Change what is given; a list replaces a list",
        [id],
        { webhook: webhookAnswer },
        ["not_found", "plan_limit_exceeded"],
        input,
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
        rotation,
      ),
    },
    "/v1/webhooks/{id}/test": {
      post: operation(
        "Send an invented event, with test: true",
        [id],
        { eventId: text.describe("Id of the invented event.") },
        ["not_found", "webhook_unverified"],
        tried,
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
        replayed,
      ),
    },
  };
}
