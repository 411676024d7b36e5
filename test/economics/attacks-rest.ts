import { randomUUID } from "node:crypto";
import { randomAddress } from "../transactions/harness.ts";
import { type Attack, type Entry, fewBytes, freshAddresses, get, sent, type Target } from "./attack.ts";

const chain = "goerli";
const uri = `ipfs://bafkreiepfwroxy47wzvllrfyu5dwecz6blkiztzmc3r3frryasdve74zii/${"a".repeat(400)}`;
const notBuilt = { cannotCost: "it is not built: its answer is the same refusal for all, before anything is read" };

/** A deployment of the largest kind that a free plan has. */
function deploymentBody(more: Record<string, unknown> = {}) {
  const owner = randomAddress();
  return {
    ...{ chain, name: `Cost ${randomUUID()}`, symbol: "CST", max_supply: 100, mint_price: 0.01, tokens_per_mint: 5 },
    ...{ owner_address: owner, treasury_address: owner, royalties_address: owner, royalties_share: 500 },
    ...{ public_mint_start: "2022-07-12T11:30:48+00:00", metadata_updatable: true, prereveal_token_uri: uri },
    ...more,
  };
}

/** A form with one file, or with a file for each text. */
function formOf(texts: readonly string[], part: string): FormData {
  const form = new FormData();
  for (const [index, text] of texts.entries())
    form.append(part, new Blob([text], { type: "application/json" }), `${index}.json`);
  return form;
}

const unique = (index: number, length: number) => `${randomUUID()} ${index} ${"x".repeat(length)}`;
const documents = (count: number) =>
  Array.from({ length: count }, (_, index) => JSON.stringify({ name: unique(index, 20), image: uri, attributes: [] }));

const receivers = ["burner", "looping", "returning", "reverting"] as const;
const receiver = (target: Target, index: number) => target[receivers[index % receivers.length] ?? "burner"];

/** Mints to receivers that are contracts, by turns each of the hostile ones. */
function hostileMint(method: string, path: string, body: (to: string, target: Target) => object): Attack {
  const worst = "receivers that fill storage, burn all gas, return 100 KB, or revert with it";
  return sent(method, path, worst, (target, index) => body(receiver(target, index), target), {
    ...{ times: receivers.length, after: "relay" },
  });
}

const webhook = (url: string) => ({ url, types: ["mint"], contracts: freshAddresses(50) });
const ofWebhook = (rest: string) => (target: Target) => `/v1/webhooks/${target.webhook}${rest}`;

/** The REST APIs: `/v0` and `/v1`. */
export const restAttacks: Record<string, Entry> = {
  "GET /v0": get("as it is", () => "/v0"),
  "POST /v0/signup": sent("POST", "/v0/signup", "the longest name", (_, index) => ({
    name: `${index} ${"n".repeat(90)}`,
    email: `${randomUUID()}@example.com`,
  })),
  "POST /v0/recommendations/similar_nfts/urls": notBuilt,
  "POST /v0/recommendations/similar_nfts/files": notBuilt,
  "POST /v0/duplicates/urls": notBuilt,
  "POST /v0/duplicates/files": notBuilt,
  "POST /v0/duplicates/tokens": notBuilt,
  "GET /v0/contracts/top": notBuilt,
  "GET /v0/me/keys": get("as it is", () => "/v0/me/keys"),
  "POST /v0/me/keys": sent("POST", "/v0/me/keys", "another key", (_, index) => ({
    ...{ name: `k${index}`, scopes: ["read"] },
  })),
  "POST /v0/me/keys/:id/rotate": sent(
    "POST",
    (target) => `/v0/me/keys/${target.key}/rotate`,
    "again and again",
    () => ({
      overlap_seconds: 2_592_000,
    }),
  ),
  "DELETE /v0/me/keys/:id": {
    worst: "a key that is none",
    run: async (_, asker) => await asker.send("DELETE", `/v0/me/keys/${randomUUID()}`),
  },
  "GET /v0/me/settings": get("as it is", () => "/v0/me/settings"),
  "POST /v0/files": [
    {
      worst: "a file of one byte and a bit",
      ...fewBytes,
      run: async (_, asker, index) => await asker.send("POST", "/v0/files", formOf([unique(index, 0)], "file")),
    },
    {
      worst: "a megabyte",
      run: async (_, asker, index) => await asker.send("POST", "/v0/files", formOf([unique(index, 1_048_000)], "file")),
    },
  ],
  "POST /v0/metadata": sent("POST", "/v0/metadata", "a thousand attributes", (_, index) => ({
    ...{ name: unique(index, 100), description: "d", file_url: uri },
    attributes: Array.from({ length: 1_000 }, (__, at) => ({ trait_type: `t${at}`, value: `${at}` })),
  })),
  "POST /v0/metadata/directory": [
    {
      worst: "249 files, which count as one upload",
      run: async (_, asker) =>
        await asker.send("POST", "/v0/metadata/directory", formOf(documents(249), "metadata_files")),
    },
    {
      worst: "249 files, checked only",
      run: async (_, asker) =>
        await asker.send("POST", "/v0/metadata/directory?dry_run=true", formOf(documents(249), "metadata_files")),
    },
  ],
  "POST /v0/contracts/collections": [
    sent("POST", "/v0/contracts/collections?dry_run=true", "a presale list of 4,999, checked only", () =>
      deploymentBody({
        presale_whitelisted_addresses: freshAddresses(4_999),
        presale_mint_start: "2022-07-11T11:30:48",
      }),
    ),
    sent(
      "POST",
      "/v0/contracts/collections",
      "the longest texts",
      () => deploymentBody({ prereveal_token_uri: `ipfs://${"b".repeat(7_900)}` }),
      { after: "relay", transaction: true, times: 1 },
    ),
  ],
  "PUT /v0/contracts/collections": sent(
    "PUT",
    "/v0/contracts/collections?dry_run=true",
    "a presale list of 4,999, checked only",
    (target, index) => ({
      ...{ chain, contract_address: target.collection, presale_whitelisted_addresses: freshAddresses(4_999) },
      ...{ presale_mint_start: "2022-07-11T11:30:48", prereveal_token_uri: `${uri}${index}` },
    }),
  ),
  "POST /v0/contracts": sent(
    "POST",
    "/v0/contracts",
    "as many roles as a request may list",
    (_, index) => ({
      ...{ chain, name: `R ${randomUUID()}`, symbol: "R", owner_address: randomAddress(), base_uri: `${uri}${index}` },
      roles: [{ role: "mint", addresses: freshAddresses(100), freeze: false }],
    }),
    { after: "relay" },
  ),
  "PUT /v0/contracts": sent(
    "PUT",
    "/v0/contracts",
    "as many roles as a request may list",
    (target) => ({
      ...{ chain, contract_address: target.erc721 },
      roles: [{ role: "mint", addresses: freshAddresses(100), freeze: false }],
    }),
    { after: "relay", transaction: true, times: 1 },
  ),
  "GET /v0/me/contracts": get("as it is", () => "/v0/me/contracts"),
  "GET /v0/contracts/:hash": get(
    "of a deployment",
    (target) => `/v0/contracts/${target.deploymentHash}?chain=${chain}`,
  ),
  "POST /v0/mints/customizable": hostileMint("POST", "/v0/mints/customizable", (to, target) => ({
    ...{ chain, contract_address: target.erc721, metadata_uri: uri, mint_to_address: to },
  })),
  "PUT /v0/mints/customizable": sent(
    "PUT",
    "/v0/mints/customizable",
    "a token that is none",
    (target, index) => ({ chain, contract_address: target.erc721, token_id: 900 + index, metadata_uri: uri }),
    { after: "relay" },
  ),
  "DELETE /v0/mints/customizable": {
    worst: "a token that is none",
    after: "relay",
    run: async (target, asker, index) =>
      await asker.send("DELETE", "/v0/mints/customizable", {
        ...{ chain, contract_address: target.erc721, token_id: 900 + index },
      }),
  },
  "POST /v0/mints/customizable/batch": hostileMint("POST", "/v0/mints/customizable/batch", (to, target) => ({
    ...{ chain, contract_address: target.erc1155 },
    tokens: Array.from({ length: 50 }, (_, at) => ({
      ...{ mint_to_address: to, token_id: at + 1, metadata_uri: uri, quantity: 1 },
    })),
  })),
  "DELETE /v0/mints/customizable/batch": sent(
    "DELETE",
    "/v0/mints/customizable/batch",
    "fifty tokens that are none",
    (target) => ({
      ...{ chain, contract_address: target.erc1155 },
      tokens: Array.from({ length: 50 }, (_, at) => ({ token_id: 900 + at, quantity: 1 })),
    }),
    { after: "relay" },
  ),
  "POST /v0/mints/transfers": hostileMint("POST", "/v0/mints/transfers", (to, target) => ({
    ...{ chain, contract_address: target.erc721, token_id: 1, transfer_to_address: to },
  })),
  "POST /v0/mints/transfers/batch": hostileMint("POST", "/v0/mints/transfers/batch", (to, target) => ({
    ...{ chain, contract_address: target.erc1155 },
    tokens: Array.from({ length: 50 }, (_, at) => ({ token_id: at + 1, quantity: 1, transfer_to_address: to })),
  })),
  "POST /v0/mints/easy/urls": hostileMint("POST", "/v0/mints/easy/urls", (to, target) => ({
    ...{ chain, name: "e", description: "d", file_url: `${target.hostileUrl}/slow`, mint_to_address: to },
  })),
  "POST /v0/mints/easy/files": {
    worst: "a megabyte for a receiver that burns all gas",
    after: "relay",
    run: async (target, asker, index) =>
      await asker.send(
        "POST",
        `/v0/mints/easy/files?chain=${chain}&name=e&description=d&mint_to_address=${receiver(target, index)}`,
        formOf([unique(index, 1_048_000)], "file"),
      ),
  },
  "GET /v0/mints/batch/:hash": get("of a mint", (target) => `/v0/mints/batch/${target.mintHash}?chain=${chain}`),
  "GET /v0/mints/:hash": get("of a mint", (target) => `/v0/mints/${target.mintHash}?chain=${chain}`),
  "GET /v0/me/mints": get("the largest page", () => "/v0/me/mints?page_size=50"),
  "GET /v0/me/contracts/collections": get("as it is", () => `/v0/me/contracts/collections?chain=${chain}`),
  "GET /v0/me/contracts/abis/:contract": get(
    "of a collection",
    (target) => `/v0/me/contracts/abis/${target.collection}?chain=${chain}`,
  ),
  "GET /v0/accounts/contracts/:account_address": get(
    "who holds thousands of tokens",
    (target) => `/v0/accounts/contracts/${target.holder}?chain=${chain}&page_size=50`,
  ),
  "GET /v0/accounts/creators/:account_address": get(
    "who made thousands of tokens, with everything",
    (target, index) =>
      `/v0/accounts/creators/${target.holder}?chain=${chain}&page_size=50&page_number=${index + 1}&include=metadata,contract_information`,
  ),
  "GET /v0/accounts/:account_address": get(
    "who holds thousands of tokens, with everything",
    (target, index) =>
      `/v0/accounts/${target.holder}?chain=${chain}&page_size=50&page_number=${index + 40}&include=metadata`,
  ),
  "GET /v0/nfts": get(
    "the largest page, far down, with everything",
    (_, index) => `/v0/nfts?chain=${chain}&page_size=50&page_number=${index + 40}&include=all`,
  ),
  "GET /v0/nfts/:contract_address": get(
    "the largest page, far down, with everything",
    (target, index) =>
      `/v0/nfts/${target.large}?chain=${chain}&page_size=50&page_number=${index + 40}&include=all&refresh_metadata=true`,
  ),
  "GET /v0/nfts/:contract_address/:token_id": {
    ...get(
      "read again: a document that loops, or a megabyte, or one of a server that sends without end",
      (target, index) => `/v0/nfts/${target.talker}/${index + 1}?chain=${chain}&refresh_metadata=true`,
    ),
    ...{ after: "metadata", times: 6 },
  },
  "GET /v0/transactions": get(
    "the largest page, far down",
    (_, index) => `/v0/transactions?chain=${chain}&page_size=50&type=all&page_number=${index + 40}`,
  ),
  "GET /v0/transactions/accounts/:account_address": get(
    "who got thousands of tokens",
    (target) => `/v0/transactions/accounts/${target.holder}?chain=${chain}&page_size=50&type=all`,
  ),
  "GET /v0/transactions/nfts/:contract_address": get(
    "of thousands of tokens",
    (target) => `/v0/transactions/nfts/${target.large}?chain=${chain}&page_size=50&type=all`,
  ),
  "GET /v0/transactions/nfts/:contract_address/:token_id": get(
    "of a token",
    (target) => `/v0/transactions/nfts/${target.large}/7?chain=${chain}&page_size=50&type=all`,
  ),
  "GET /v0/transactions/stats/:contract_address": get(
    "of thousands of tokens",
    (target) => `/v0/transactions/stats/${target.large}?chain=${chain}`,
  ),
  "GET /v0/reports/:report_type": get("of everything", () => `/v0/reports/uris?chain=${chain}`),
  "GET /v0/search": get("one letter", (_, index) => `/v0/search?text=${"abcdefgh"[index % 8]}&page_size=50`),
  "GET /v0/me/storage": get("the largest page", () => "/v0/me/storage?type=all&page_size=50"),
  "GET /v1/events": {
    worst: "a stream from the beginning, with the longest filter",
    run: async (_, asker) => await asker.watch("GET", `/v1/events?contract=${freshAddresses(50).join(",")}`),
  },
  "GET /v1/webhooks": get("as it is", () => "/v1/webhooks"),
  "POST /v1/webhooks": sent("POST", "/v1/webhooks", "the longest filter", (target) =>
    webhook(`${target.hostileUrl}/redirect`),
  ),
  "GET /v1/webhooks/:id": get("as it is", ofWebhook("")),
  "PATCH /v1/webhooks/:id": sent("PATCH", ofWebhook(""), "the longest filter", (target) =>
    webhook(`${target.hostileUrl}/slow`),
  ),
  "POST /v1/webhooks/:id/pause": sent("POST", ofWebhook("/pause"), "as it is", () => ({})),
  "POST /v1/webhooks/:id/resume": sent("POST", ofWebhook("/resume"), "as it is", () => ({})),
  "POST /v1/webhooks/:id/verify": sent("POST", ofWebhook("/verify"), "an endpoint that redirects", () => ({}), {
    after: "webhooks",
  }),
  "DELETE /v1/webhooks/:id": {
    worst: "one that is none",
    run: async (_, asker) => await asker.send("DELETE", `/v1/webhooks/${randomUUID()}`),
  },
  "POST /v1/webhooks/:id/rotate": sent("POST", ofWebhook("/rotate"), "the longest overlap", () => ({
    overlapSeconds: 604_800,
  })),
  "POST /v1/webhooks/:id/test": sent("POST", ofWebhook("/test"), "an endpoint that redirects", () => ({}), {
    after: "webhooks",
  }),
  "GET /v1/webhooks/:id/deliveries": get("as it is", ofWebhook("/deliveries")),
  "POST /v1/webhooks/:id/replay": sent(
    "POST",
    ofWebhook("/replay"),
    "everything, to an endpoint that is slow",
    () => ({ since: new Date(Date.now() - 86_400_000).toISOString() }),
    { after: "webhooks" },
  ),
};
