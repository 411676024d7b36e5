import * as z from "zod";
import { eventTypeNames, mostInFilter } from "../events/event-input.ts";
import { sampleTypes } from "../events/sample-event.ts";
import {
  date,
  errorSchema,
  integer,
  type Json,
  jsonContent,
  nullableText,
  operation,
  path,
  query,
  text,
} from "./openapi-parts.ts";

const finality = z.enum(["latest", "safe", "finalized"]);
const texts = (most: number) => z.array(text).max(most);
const filter = {
  types: texts(mostInFilter.types).describe(`names or beginnings of names: ${eventTypeNames.join(", ")}`),
  chains: texts(mostInFilter.chains),
  contracts: texts(mostInFilter.contracts),
  accounts: texts(mostInFilter.accounts).describe("sender or receiver of a movement"),
  tokenIds: texts(mostInFilter.tokenIds).describe("whole numbers as text"),
  finality,
};
const input = z.object({ url: text, description: text, ...filter }).partial();
const attempt = z.object({
  attempt: integer,
  at: date,
  status: integer.nullable(),
  fault: nullableText.describe("why there was no answer; no_challenge: it is not that of a challenge"),
  milliseconds: integer,
  answer: nullableText.describe("its first kilobyte"),
});
const webhook = z.object({
  id: text,
  url: text,
  description: text,
  ...filter,
  state: z.enum(["enabled", "unverified", "paused", "disabled"]),
  disabledReason: nullableText.describe("gone: it answered 410; failing: for five days"),
  disabledAt: nullableText.describe("when it was disabled last"),
  waiting: nullableText.describe(
    "why what waits is not sent although it is enabled; failed: a thousand messages failed and wait; tries: the plan's messages of the day are used; rate: its host gets no more in a second; storage: the service's is nearly full; verification: it has not answered its challenge",
  ),
  verifiedAt: nullableText.describe("when it answered its challenge; until then it is sent nothing else"),
  verificationTry: attempt.nullable().describe("the last challenge that was sent to it"),
  verificationAt: nullableText.describe("when the next one is sent; null: none is, until you ask with verify"),
  failingSince: nullableText,
  publicKey: text.describe("whpk_…: of the v1a signatures"),
  createdAt: date,
});
const secret = text.describe("whsec_…, shown in this answer only");
const deliveryState = z.enum(["pending", "delivered", "dead"]);
const delivery = z.object({
  id: text,
  eventId: text,
  type: text,
  sequence: nullableText,
  state: deliveryState,
  attempts: integer,
  nextAt: nullableText,
  createdAt: date,
  tries: z.array(attempt),
});
const rotation = z.object({ overlapSeconds: z.int().min(0).max(604_800).default(86_400) }).partial();
const replayed = z
  .object({
    eventId: text,
    since: date,
    until: date,
    fromBlock: integer,
    toBlock: integer,
    failed: z.boolean().describe("all that was given up"),
  })
  .partial();
const tried = z.object({ type: z.string().default("webhook.test").describe(sampleTypes.join(", ")) }).partial();
const id = path("id", z.string().regex(/^wh_[0-9a-f]{32}$/));
const repeated = (name: string, description: string): Json => ({
  ...query(name, z.array(text), description),
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
          repeated("types", "names or beginnings of names"),
          repeated("chain", "names of chains"),
          repeated("contract", "addresses"),
          repeated("account", "sender or receiver"),
          repeated("tokenId", "whole numbers"),
          query("finality", finality.default("latest"), "when a movement is told"),
          query("after", text, "the id of the last event that you have; the header Last-Event-ID does the same"),
        ],
        responses: {
          "200": {
            description: "Events until you leave",
            content: { "text/event-stream": { schema: { type: "string" } } },
          },
          default: { description: "What went wrong, by code", ...jsonContent(errorSchema) },
        },
      },
    },
    "/v1/webhooks": {
      get: operation("Endpoints of the account", [], { webhooks: z.array(webhook) }),
      post: operation(
        "Make an endpoint; needs the scope admin",
        [],
        { webhook, secret },
        ["plan_limit_exceeded"],
        input.required({ url: true }),
      ),
    },
    "/v1/webhooks/{id}": {
      get: one("One endpoint"),
      patch: operation(
        "Change what is given; a list replaces a list",
        [id],
        { webhook },
        ["not_found", "plan_limit_exceeded"],
        input,
      ),
      delete: one("Delete it with what waits for it"),
    },
    "/v1/webhooks/{id}/pause": { post: one("Stop sending; events wait") },
    "/v1/webhooks/{id}/resume": { post: one("Go on sending, also after it was disabled") },
    "/v1/webhooks/{id}/verify": { post: one("Ask it anew whether it wants messages, by a challenge") },
    "/v1/webhooks/{id}/rotate": {
      post: operation("A new secret; both are valid for a while", [id], { webhook, secret }, ["not_found"], rotation),
    },
    "/v1/webhooks/{id}/test": {
      post: operation(
        "Send an invented event, with test: true",
        [id],
        { eventId: text },
        ["not_found", "webhook_unverified"],
        tried,
      ),
    },
    "/v1/webhooks/{id}/deliveries": {
      get: operation(
        "The newest 50 deliveries with their tries",
        [
          id,
          query("state", deliveryState, "only these"),
          query("before", text, "id of the last one of the page before"),
        ],
        { deliveries: z.array(delivery) },
        ["not_found"],
      ),
    },
    "/v1/webhooks/{id}/replay": {
      post: operation(
        "Send events again, with their ids",
        [id],
        { replayed: integer },
        ["not_found", "webhook_unverified"],
        replayed,
      ),
    },
  };
}
