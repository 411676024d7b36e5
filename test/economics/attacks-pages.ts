import { createSiweMessage } from "viem/siwe";
import { callsOfSale } from "../../src/collections/read-sale.ts";
import { callsOfBalance } from "../../src/collections/shown-balance.ts";
import { randomAddress } from "../transactions/harness.ts";
import { type Asker, type Entry, get, type Reply, type Target } from "./attack.ts";

const chain = "goerli";
const page = (path: string) => get("as it is", () => path);
const figuresOf = (count: number) =>
  `/console/figures?${Array.from({ length: count }, () => `of=${chain}:${randomAddress()}`).join("&")}`;

/** A message of a wallet that is a contract which never ends, or returns a megabyte. */
async function signIn(target: Target, asker: Asker, index: number): Promise<Reply> {
  const challenge = await asker.send("POST", "/auth/nonce", {});
  const { nonce = "", statement = "" } = JSON.parse(challenge.text) as Record<string, string>;
  const message = createSiweMessage({
    ...{ address: index % 2 ? target.returning : target.looping, chainId: 31337, domain: "127.0.0.1:3000" },
    ...{ uri: "http://127.0.0.1:3000/", version: "1", nonce, statement, issuedAt: new Date() },
  });
  const headers = { Cookie: challenge.cookies.map((cookie) => cookie.split(";")[0]).join("; ") };
  return await asker.send("POST", "/auth/sign-in", { message, signature: `0x${"12".repeat(65)}` }, headers);
}

/** Content, pages, health and sign-in: what is asked beside the APIs. */
export const pageAttacks: Record<string, Entry> = {
  "GET /ipfs/:cid": [
    get("a directory of thousands as one CAR", (target) => `/ipfs/${target.directory}?format=car`),
    get("a directory of thousands as a listing", (target) => `/ipfs/${target.directory}/`),
    get(
      "a CID that is not here",
      (_, index) => `/ipfs/bafkreiepfwroxy47wzvllrfyu5dwecz6blkiztzmc3r3frryasdve74z${"abc"[index % 3]}i`,
    ),
  ],
  "GET /ipfs/:cid/*": get(
    "the last file of a directory of thousands",
    (target) => `/ipfs/${target.directory}/2999.json`,
  ),
  "GET /thumbnails/:width/:cid": get(
    "a picture of 11 megabytes in a width that it was not made in",
    (target, index) => `/thumbnails/${[1024, 512, 256, 128][index % 4]}/${target.picture}`,
  ),
  "GET /thumbnails/:width/:cid/*": get(
    "the last file of a directory of thousands, which is no picture",
    (target) => `/thumbnails/1024/${target.directory}/2999.json`,
  ),
  "GET /thumbnails/:width/nfts/:chain/:contract/:tokenId": [
    get(
      "a picture without an end at a server of the attacker, each time another link",
      (target, index) => `/thumbnails/1024/nfts/${chain}/${target.large}/${index % 1_000}`,
    ),
    get(
      "a drawing of a megabyte in the metadata, which is damaged",
      (target, index) => `/thumbnails/1024/nfts/${chain}/${target.large}/${1_000 + (index % 10)}`,
    ),
  ],
  "GET /graphql": [
    get("a new document", (_, index) => `/graphql?query=${encodeURIComponent(`{ status { database } } # ${index}`)}`),
    {
      worst: "the page of five megabytes",
      run: async (_, asker) => await asker.send("GET", "/graphql", undefined, { Accept: "text/html" }),
    },
  ],
  "ALL /graphql": {
    worst: "a new document that ends in an error after 2,000 tokens",
    run: async (_, asker, index) => await asker.graphql(`{ ${"status { database } ".repeat(490)} x${index} }`),
  },
  "GET /livez": {
    cannotCost:
      "is answered whatever is used up, and takes as little as a refusal, which nothing counts either: docs/limits.md says so",
  },
  "GET /readyz": page("/readyz?strict"),
  "GET /status": page("/status"),
  "GET /metrics": { cannotCost: "operator only: without METRICS_TOKEN, or from another machine, it is not found" },
  "POST /auth/nonce": {
    worst: "again and again",
    run: async (_, asker) => await asker.send("POST", "/auth/nonce", {}),
  },
  "POST /auth/sign-in": { worst: "contract wallets that never end or return 100 KB", times: 4, places: 3, run: signIn },
  "GET /auth/session": {
    worst: "a cookie that is none",
    run: async (_, asker, index) =>
      await asker.send("GET", "/auth/session", undefined, { Cookie: `mintyard_session=${"a".repeat(43)}${index}` }),
  },
  "DELETE /auth/session": {
    worst: "a cookie that is none",
    run: async (_, asker, index) =>
      await asker.send("DELETE", "/auth/session", undefined, { Cookie: `mintyard_session=${"a".repeat(43)}${index}` }),
  },
  "GET /assets/:file": page("/assets/none.js"),
  "GET /mint/:chain/:collection": get("a collection", (target) => `/mint/${chain}/${target.collection}`),
  "GET /mint/:chain/:collection/sale": [
    get("a contract that is none, each time another", () => `/mint/${chain}/${randomAddress()}/sale`),
    get("a contract that returns 100 KB", (target) => `/mint/${chain}/${target.returning}/sale`, {
      places: callsOfSale.together + callsOfSale.apart,
    }),
    get("a contract that never ends", (target) => `/mint/${chain}/${target.looping}/sale`),
  ],
  "GET /console/installation.json": page("/console/installation.json"),
  "GET /console/requests": {
    worst: "a search that finds nothing",
    run: async (_, asker) => await asker.send("GET", "/console/requests?search=nothing-is-like-that"),
  },
  "GET /console/balance/:chain/:address": get(
    "each time another",
    () => `/console/balance/${chain}/${randomAddress()}`,
    { places: callsOfBalance },
  ),
  "GET /console/figures": [
    get("a collection", (target) => `/console/figures?of=${chain}:${target.collection}`),
    get("twenty contracts that are none, each time others", () => figuresOf(20), { places: 20 * callsOfSale.together }),
  ],
  "GET /console/history": page("/console/history"),
  "GET /console": page("/console"),
  "GET /console/*": page("/console/launch"),
  "GET /docs/guide": page("/docs/guide"),
  "GET /docs/guide/search.json": page("/docs/guide/search.json"),
  "GET /docs/guide/:name": page("/docs/guide/limits"),
  "POST /local-wallet/:chain": {
    cannotCost: "on local chains only, whose coin and node are the operator's own; elsewhere it is not found",
  },
  "GET /": page("/"),
  "GET /docs/*": page("/docs/none"),
  "GET /docs": page("/docs"),
  "GET /docs/errors/:code": page("/docs/errors/not_found"),
  "GET /docs/start": page("/docs/start"),
  "GET /docs/rest": page("/docs/rest"),
  "GET /docs/openapi.json": page("/docs/openapi.json"),
};
