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
    scopes: z.array(z.enum(Object.keys(scopeWords))).describe("What the key may do."),
  })
  .describe("A key, without its secret.");
const spellings = {
  api_key: text.describe("The key, `mty_live_…`: send it as `Authorization`; it is shown in this answer only."),
  legacy_api_key: text.meta({ format: "uuid", description: "The same key for clients that can only send a UUID." }),
};
const noLimit = "2147483647: no limit";
const minting = z.object({
  minting_usage: counts("What was minted, burned and transferred on this chain.", {
    total_nfts_minted:
      "Tokens of mints, burns and transfers so far; a request that takes more gas counts once for each 500,000 gas that it begins.",
    subscription_nfts_minted: "The same in this calendar month (UTC).",
  }),
  minting_limits: counts("What the plan has for that.", {
    subscription_mints_included: `Tokens that the plan includes; ${noLimit}.`,
    max_mints: `Tokens that may be minted, burned and transferred on this chain at most; ${noLimit}.`,
  }),
  contract_deployment_usage: counts("What was deployed on this chain.", {
    total_contracts_deployed: "Collections and product contracts so far.",
    subscription_contracts_deployed: "The same in this calendar month (UTC).",
  }),
  contract_deployment_limits: counts("What the plan has for that.", {
    subscription_contracts_included: `Contracts that the plan includes; ${noLimit}.`,
    max_contracts: `Contracts that may be deployed on this chain at most; ${noLimit}.`,
  }),
  gas_usage: z
    .object({
      wei_today: wei.describe(
        "Wei that the transactions of today (UTC) cost or have reserved; null where the chain is not served.",
      ),
      wei_this_month: wei.describe("The same for this calendar month (UTC)."),
    })
    .describe("Gas that this service paid for the account."),
  gas_limits: z
    .object({
      max_wei_per_day: wei.describe("Wei that they may cost in a day (UTC); null where the chain is not served."),
      max_wei_per_month: wei.describe("Wei that they may cost in a month; null: no limit but that of the day."),
    })
    .describe("Gas that this service pays for the account at most."),
});
const keyId = path("id", text, "Id of the key: `key_` and 32 hex digits.");
const serviceInfo = z.object({
  title: text.describe("Name of the API."),
  description: text.describe("What the API is for."),
  version: text.describe("Version of the original service's API that `/v0` keeps to; it is not that of this software."),
});
const settings = {
  profile: z
    .object({
      name: text.describe("Name of the account."),
      email: text.describe("E-mail address; empty when there is none."),
      joined_date: text.describe("When the account was opened, as `2026-01-31T12:00:00+00:00`."),
    })
    .describe("Who the account is."),
  subscription_period: z
    .object({
      start_date: text.describe("First moment of the calendar month (UTC), without an offset."),
      end_date: text.describe("First moment of the next one."),
    })
    .describe("The month that counts are made for."),
  data_usage_and_limits: z
    .object({
      data_usage: counts("What was used.", { subscription_data_requests_made: "Reads of this calendar month." }),
      data_limits: counts("What the plan includes.", {
        subscription_data_requests_included: `Reads in a month; ${noLimit}.`,
        max_data_requests_per_second: `Reads in a second; ${noLimit}.`,
        max_data_requests_per_month: `The same as \`subscription_data_requests_included\`; ${noLimit}.`,
      }),
    })
    .describe("Reads."),
  storage_usage_and_limits: z
    .object({
      storage_usage: counts("What was used.", {
        stored_bytes: "Bytes that are stored, the same content counted once.",
      }),
      storage_limits: limits("What the plan includes.", {
        max_stored_bytes: "Bytes that may be stored; null: no limit.",
        max_uploads_at_once: "Uploads at the same time; null: no limit.",
      }),
    })
    .describe("Uploads."),
  transaction_usage_and_limits: z
    .object({
      transaction_usage: counts("What was used.", {
        transactions_made_today: "Transactions of today.",
        subscription_transactions_made: "Transactions of this calendar month.",
      }),
      transaction_limits: limits("What the plan includes.", {
        max_transactions_per_day: "Transactions in a day; null: no limit.",
        max_transactions_per_month: "Transactions in a month; null: no limit.",
      }),
    })
    .describe("Deployments and updates on all chains; days and months are those of UTC."),
  request_limits: limits("Requests that the plan includes, dry runs and refused ones among them.", {
    max_deploy_requests_per_minute: "Requests in a minute that may deploy, mint or change something; null: no limit.",
    max_deploy_requests_per_day: "The same in a day; null: no limit.",
    max_upload_requests_per_minute: "Uploads in a minute; null: no limit.",
    max_upload_requests_per_day: "Uploads in a day; null: no limit.",
  }),
  webhook_usage_and_limits: z
    .object({
      webhook_usage: counts("What was used.", {
        webhooks: "Endpoints of the account.",
        tries_made_today: "Messages that were sent to all of them today, failed ones included.",
      }),
      webhook_limits: limits("What the plan includes.", {
        max_webhooks: "Endpoints that the account may have; null: no limit of the plan.",
        max_tries_per_day: "Messages to all of them in a day; null: no limit.",
      }),
    })
    .describe("Webhook endpoints and the messages to them; a day is one of UTC."),
  deployment_limits: limits("What the plan allows for deployments.", {
    max_supply: "Largest `max_supply` of a collection; null: no limit.",
    max_awaited_deployments: "Deployments from the account's own wallets that are watched for at once; null: no limit.",
    max_allowlists: "Presale lists that are kept; null: no limit.",
    max_allowlist_bytes: "Bytes of all presale lists; null: no limit.",
  }),
  minting_usage_and_limits: z
    .record(z.string(), minting)
    .describe("What was used and what the plan allows, by the chain's name."),
};

/** The operations of `/v0` on accounts and their keys. */
export function accountPaths(): Json {
  return {
    "/v0/": {
      get: {
        summary: "What answers here",
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
      get: accountOperation("What the account may do and has used", settings),
    },
    "/v0/me/keys": {
      get: accountOperation("Keys of the account", {
        keys: z.array(key).describe("Keys and browsers' sessions, oldest first, revoked ones too; 1,000 at most."),
      }),
      post: accountOperation(
        "Make a further key",
        { ...spellings, key },
        { body: z.object(bodyMembers(createKeyFields)), failures: ["file_too_large"] },
      ),
    },
    "/v0/me/keys/{id}/rotate": {
      post: accountOperation(
        "Replace a key; the old one works on for a while",
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
        "End a key, everywhere within a second",
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
