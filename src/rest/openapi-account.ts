type Json = Record<string, unknown>;

const text = { type: "string" };
const moment = { type: ["string", "null"], format: "date-time" };
const count = { type: ["integer", "null"] };
const wei = { type: ["string", "null"], pattern: "^[0-9]+$" };
const key = {
  type: "object",
  required: ["id", "name", "scopes"],
  properties: {
    id: { type: "string", pattern: "^key_[0-9a-f]{32}$" },
    name: text,
    scopes: { type: "array", items: { enum: ["read", "upload", "deploy", "admin"] } },
    created_at: moment,
    expires_at: moment,
    revoked_at: moment,
    last_used_at: moment,
    wallet: {
      type: ["string", "null"],
      description: "Of a browser's session: the wallet that signed in; null for a key.",
    },
  },
};
const spellings = {
  api_key: { type: "string", description: "mty_live_…, shown this once" },
  legacy_api_key: { type: "string", format: "uuid", description: "the same key for clients that only send a UUID" },
};
const minting = {
  type: "object",
  properties: {
    minting_usage: counts("total_nfts_minted", "subscription_nfts_minted"),
    minting_limits: counts("subscription_mints_included", "max_mints"),
    contract_deployment_usage: counts("total_contracts_deployed", "subscription_contracts_deployed"),
    contract_deployment_limits: counts("subscription_contracts_included", "max_contracts"),
    gas_usage: { type: "object", properties: { wei_today: wei } },
    gas_limits: { type: "object", properties: { max_wei_per_day: wei } },
  },
};
const keyId = { name: "id", in: "path", required: true, schema: text };

/** The operations of `/v0` on accounts and their keys. */
export function accountPaths(): Json {
  return {
    "/v0/signup": {
      post: {
        ...operation(
          "Open a free account and get its first key",
          { account_id: text, tier: text, ...spellings },
          { body: { name: text, email: text }, required: ["name"] },
        ),
        security: [],
      },
    },
    "/v0/me/settings": {
      get: operation("What the account may do and has used", {
        profile: { type: "object", properties: { name: text, email: text, joined_date: text } },
        subscription_period: { type: "object", properties: { start_date: text, end_date: text } },
        data_usage_and_limits: { type: "object" },
        storage_usage_and_limits: { type: "object" },
        transaction_usage_and_limits: {
          type: "object",
          description: "deployments and updates on all chains together; days and months of UTC",
          properties: {
            transaction_usage: counts("transactions_made_today", "subscription_transactions_made"),
            transaction_limits: counts("max_transactions_per_day", "max_transactions_per_month"),
          },
        },
        request_limits: counts(
          ...["max_deploy_requests_per_minute", "max_deploy_requests_per_day"],
          ...["max_upload_requests_per_minute", "max_upload_requests_per_day"],
        ),
        deployment_limits: counts(
          ...["max_supply", "max_awaited_deployments", "max_allowlists", "max_allowlist_bytes"],
        ),
        minting_usage_and_limits: { type: "object", additionalProperties: minting },
      }),
    },
    "/v0/me/keys": {
      get: operation("Keys of the account", { keys: { type: "array", items: key } }),
      post: operation(
        "Make a further key",
        { ...spellings, key },
        { body: { name: text, scopes: key.properties.scopes, expires_at: text }, required: ["name"] },
      ),
    },
    "/v0/me/keys/{id}/rotate": {
      post: operation(
        "Replace a key; the old one works on for a while",
        { ...spellings, key },
        {
          body: { overlap_seconds: { type: "integer", minimum: 0, maximum: 2_592_000, default: 86_400 } },
          parameters: [keyId],
        },
      ),
    },
    "/v0/me/keys/{id}": {
      delete: operation("End a key, everywhere within a second", { key }, { parameters: [keyId] }),
    },
  };
}

function counts(...names: string[]): Json {
  return { type: "object", properties: Object.fromEntries(names.map((name) => [name, count])) };
}

function operation(
  summary: string,
  members: Json,
  input: { body?: Json; required?: readonly string[]; parameters?: readonly Json[] } = {},
): Json {
  const answer = {
    type: "object",
    required: ["response", ...Object.keys(members), "error"],
    properties: { response: { const: "OK" }, ...members, error: { type: "null" } },
  };
  const body = { type: "object", required: [...(input.required ?? [])], properties: input.body };
  return {
    summary,
    ...(input.parameters ? { parameters: input.parameters } : {}),
    ...(input.body ? { requestBody: { content: { "application/json": { schema: body } } } } : {}),
    responses: {
      200: { description: "OK", content: { "application/json": { schema: answer } } },
      default: {
        description: "What went wrong, by code",
        content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
      },
    },
  };
}
