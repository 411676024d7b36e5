import { type Task, yours } from "../example.ts";

const userErrors = "userErrors { code field message fix }";
const apiKey = "apiKey { id name scopes expiresAt }";

export const starting: Task = {
  title: "Start",
  about: "Operations about the service itself need no key; all others do.",
  examples: [
    { title: "Identify the API", rest: "get /v0/" },
    {
      title: "Check the health of the service",
      graphql: "query status",
      select: "database chains { chain indexedBlock lagSeconds }",
    },
    { title: "List the chains", graphql: "query chains", select: "name chainId head { block timestamp lagSeconds }" },
    {
      title: "Open an account",
      rest: "post /v0/signup",
      graphql: "mutation signUp",
      select: `accountId key ${userErrors}`,
      input: { name: "Key shop", email: "shop@example.com" },
      note: "Store the key: no later answer contains it. If sign-up is closed, the operator creates accounts.",
    },
  ],
};

export const account: Task = {
  title: "Usage and keys",
  about: "The plan's limits, the usage, and the account's keys.",
  examples: [
    {
      title: "Get the plan and the usage",
      rest: "get /v0/me/settings",
      graphql: "query viewer",
      select: "name plan { tier requestsPerMonth readsPerSecond } usage { requestsThisPeriod periodEnd storedBytes }",
    },
    {
      title: "List the keys",
      rest: "get /v0/me/keys",
      graphql: "query viewer",
      select: "keys { id name scopes expiresAt lastUsedAt revokedAt }",
    },
    {
      title: "Create a key",
      rest: "post /v0/me/keys",
      graphql: "mutation createKey",
      select: `key ${apiKey} ${userErrors}`,
      input: { name: "Build server", scopes: ["READ", "UPLOAD"], expiresAt: "2036-01-31T12:00:00Z" },
    },
    {
      title: "Rotate a key",
      rest: "post /v0/me/keys/{id}/rotate",
      graphql: "mutation rotateKey",
      select: `key ${apiKey} ${userErrors}`,
      input: { id: yours.keyId, overlapSeconds: 3600 },
    },
    {
      title: "Revoke a key",
      rest: "delete /v0/me/keys/{id}",
      graphql: "mutation revokeKey",
      select: `apiKey { id revokedAt } ${userErrors}`,
      input: { id: yours.keyId },
    },
  ],
};
