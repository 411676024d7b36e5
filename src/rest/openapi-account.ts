import * as z from "zod";
import { createKeyFields, keyMembers, rotateKeyFields, scopeWords } from "../accounts/keys.ts";
import { signUpFields } from "../accounts/sign-up.ts";
import type { ErrorCode } from "../errors/errors.ts";
import { nameIn } from "../requests/fields.ts";
import { bodyMembers } from "./bodies.ts";
import {
  anyFailure,
  type Json,
  jsonContent,
  jsonSchemaOf,
  type Members,
  membersOf,
  path,
  success,
  text,
} from "./openapi-parts.ts";

const wei = z
  .string()
  .regex(/^[0-9]+$/)
  .nullable();
const key = z
  .object({
    ...membersOf(keyMembers, (name) => nameIn("v0", name, undefined)),
    scopes: z.array(z.enum(Object.keys(scopeWords))).describe("What the key may be used for."),
  })
  .describe("A key, without its secret.");
const spellings = {
  api_key: text.describe("The key, `mty_live_…`. Send it as `Authorization`. It is shown only in this answer."),
  legacy_api_key: text.meta({
    format: "uuid",
    description: "The same key as a UUID, for clients that can only send UUIDs.",
  }),
};
const noLimit = "2147483647: no limit";
const minting = z.object({
  minting_usage: counts("Tokens minted, burned and transferred on this chain.", {
    total_nfts_minted:
      "Tokens minted, burned and transferred so far. A request that uses much gas counts once per 500,000 gas or part of it, if that is more.",
    subscription_nfts_minted: "The same for this calendar month (UTC).",
  }),
  minting_limits: counts("The plan's limits for mints, burns and transfers.", {
    subscription_mints_included: `Tokens that the plan includes; ${noLimit}.`,
    max_mints: `Maximum number of tokens minted, burned and transferred on this chain; ${noLimit}.`,
  }),
  contract_deployment_usage: counts("Contracts deployed on this chain.", {
    total_contracts_deployed: "Collections and product contracts deployed so far.",
    subscription_contracts_deployed: "The same for this calendar month (UTC).",
  }),
  contract_deployment_limits: counts("The plan's limits for deployments.", {
    subscription_contracts_included: `Contracts that the plan includes; ${noLimit}.`,
    max_contracts: `Maximum number of contracts deployed on this chain; ${noLimit}.`,
  }),
  gas_usage: z
    .object({
      wei_today: wei.describe(
        "Cost of today's transactions (UTC), paid or reserved, in wei; null if the chain is not served.",
      ),
      wei_this_month: wei.describe("The same for this calendar month (UTC)."),
    })
    .describe("Gas that this service paid for the account."),
  gas_limits: z
    .object({
      max_wei_per_day: wei.describe(
        "Maximum cost of transactions per day (UTC), in wei; null if the chain is not served.",
      ),
      max_wei_per_month: wei.describe(
        "Maximum cost of transactions per month, in wei; null if only the daily limit applies.",
      ),
    })
    .describe("Limits of the gas that this service pays for the account."),
});
const keyId = path("id", text, "Id of the key: `key_` and 32 hex digits.");
const serviceInfo = z.object({
  title: text.describe("Name of the API."),
  description: text.describe("Purpose of the API."),
  version: text.describe(
    "Version of the original service's API that `/v0` is compatible with, not the version of this software.",
  ),
});
const settings = {
  profile: z
    .object({
      name: text.describe("Name of the account."),
      email: text.describe("E-mail address; empty if there is none."),
      joined_date: text.describe("When the account was opened, as `2026-01-31T12:00:00+00:00`."),
    })
    .describe("The account."),
  subscription_period: z
    .object({
      start_date: text.describe("Start of the calendar month (UTC), without an offset."),
      end_date: text.describe("Start of the next calendar month."),
    })
    .describe("The month to which the counts apply."),
  data_usage_and_limits: z
    .object({
      data_usage: counts("What the account has used.", {
        subscription_data_requests_made: "Reads in this calendar month.",
      }),
      data_limits: counts("The limits of the plan.", {
        subscription_data_requests_included: `Reads per month; ${noLimit}.`,
        max_data_requests_per_second: `Reads per second; ${noLimit}.`,
        max_data_requests_per_month: `The same as \`subscription_data_requests_included\`; ${noLimit}.`,
      }),
    })
    .describe("Reads."),
  storage_usage_and_limits: z
    .object({
      storage_usage: counts("What the account has used.", {
        stored_bytes: "Stored bytes. Identical content counts once.",
      }),
      storage_limits: limits("The limits of the plan.", {
        max_stored_bytes: "Maximum stored bytes; null if there is no limit.",
        max_uploads_at_once: "Concurrent uploads; null if there is no limit.",
      }),
    })
    .describe("Uploads."),
  transaction_usage_and_limits: z
    .object({
      transaction_usage: counts("What the account has used.", {
        transactions_made_today: "Transactions today.",
        subscription_transactions_made: "Transactions in this calendar month.",
      }),
      transaction_limits: limits("The limits of the plan.", {
        max_transactions_per_day: "Transactions per day; null if there is no limit.",
        max_transactions_per_month: "Transactions per month; null if there is no limit.",
      }),
    })
    .describe("Deployments and updates on all chains. Days and months are in UTC."),
  request_limits: limits("Request limits of the plan. Dry runs and refused requests count too.", {
    max_deploy_requests_per_minute:
      "Requests per minute that deploy, mint or change something (deploy requests); null if there is no limit.",
    max_deploy_requests_per_day: "The same per day; null if there is no limit.",
    max_upload_requests_per_minute: "Uploads per minute; null if there is no limit.",
    max_upload_requests_per_day: "Uploads per day; null if there is no limit.",
  }),
  webhook_usage_and_limits: z
    .object({
      webhook_usage: counts("What the account has used.", {
        webhooks: "Number of endpoints of the account.",
        tries_made_today: "Messages sent to all endpoints today, including failed ones.",
      }),
      webhook_limits: limits("The limits of the plan.", {
        max_webhooks: "Maximum number of endpoints; null if the plan has no limit.",
        max_tries_per_day: "Messages to all endpoints per day; null if there is no limit.",
      }),
    })
    .describe("Webhook endpoints and the messages to them. Days are in UTC."),
  deployment_limits: limits("The plan's limits for deployments.", {
    max_supply: "Largest `max_supply` of a collection; null if there is no limit.",
    max_awaited_deployments:
      "Number of deployments by the account's own wallets that can be awaited at once; null if there is no limit.",
    max_allowlists: "Number of stored presale lists; null if there is no limit.",
    max_allowlist_bytes: "Total bytes of all presale lists; null if there is no limit.",
  }),
  minting_usage_and_limits: z.record(z.string(), minting).describe("Usage and limits by the name of the chain."),
};

export function accountPaths(): Json {
  return {
    "/v0/": {
      get: {
        summary: "Identify the API",
        responses: { "200": { description: "Done", ...jsonContent(jsonSchemaOf(serviceInfo)) } },
        security: [],
      },
    },
    "/v0/signup": {
      post: {
        ...accountOperation(
          "Open a free account and get its first key",
          {
            account_id: text.describe("Id of the account."),
            tier: text.describe("Plan of the account: `free`."),
            ...spellings,
          },
          { body: z.object(bodyMembers(signUpFields)), failures: ["file_too_large", "storage_full"] },
        ),
        security: [],
      },
    },
    "/v0/me/settings": {
      get: accountOperation("Get the plan's limits and the usage", settings),
    },
    "/v0/me/keys": {
      get: accountOperation("List the keys of the account", {
        keys: z.array(key).describe("Keys and browser sessions, including revoked ones, oldest first; up to 1,000."),
      }),
      post: accountOperation(
        "Create another key",
        { ...spellings, key },
        { body: z.object(bodyMembers(createKeyFields)), failures: ["file_too_large"] },
      ),
    },
    "/v0/me/keys/{id}/rotate": {
      post: accountOperation(
        "Replace a key; the old one keeps working for a while",
        { ...spellings, key },
        {
          body: z.object(bodyMembers(rotateKeyFields)),
          parameters: [keyId],
          failures: ["not_found", "file_too_large"],
        },
      ),
    },
    "/v0/me/keys/{id}": {
      delete: accountOperation(
        "Revoke a key everywhere within a second",
        { key },
        { parameters: [keyId], failures: ["not_found"] },
      ),
    },
  };
}

type Numbers = Record<string, string>;

/** Integers by name. @param names with their descriptions. */
function numbers(schema: z.ZodType, description: string, names: Numbers): z.ZodType {
  const members = Object.entries(names).map(([name, says]) => [name, schema.describe(says)]);
  return z.object(Object.fromEntries(members)).describe(description);
}

function counts(description: string, names: Numbers): z.ZodType {
  return numbers(z.int(), description, names);
}

/** `numbers` that are null where a plan has no limit. */
function limits(description: string, names: Numbers): z.ZodType {
  return numbers(z.int().nullable(), description, names);
}

function accountOperation(
  summary: string,
  members: Members,
  input: { body?: z.ZodType; parameters?: readonly Json[]; failures?: readonly ErrorCode[] } = {},
): Json {
  return {
    summary,
    ...(input.parameters ? { parameters: input.parameters } : {}),
    ...(input.body ? { requestBody: jsonContent(jsonSchemaOf(input.body)) } : {}),
    responses: {
      200: { description: "OK", ...jsonContent(success(members)) },
      default: anyFailure(...(input.failures ?? [])),
    },
  };
}
