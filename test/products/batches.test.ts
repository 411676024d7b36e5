import type { Hex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { HttpApi, type Json } from "../collections/http-api.ts";
import { burnsAllGas, polite } from "./receivers.ts";
import { ProductScenario, randomAddress, uri } from "./scenario.ts";
import { WaitingMints } from "./waiting-mints.ts";

let s: ProductScenario;
let api: HttpApi;
let contract: string;
beforeAll(async () => {
  s = await ProductScenario.start();
  api = await HttpApi.start(s.services);
  const { body } = await api.post("/v0/contracts", {
    ...{ chain: "goerli", name: "Batch", symbol: "B", owner_address: await s.unlocked() },
  });
  const { rows } = await s.services.pool.query(
    `SELECT r.intent_id AS id FROM service.attempt a JOIN service.nonce_reservation r USING (chain_id, addr, nonce)
     WHERE a.hash = decode($1, 'hex')`,
    [String(body["transaction_hash"]).slice(2)],
  );
  await s.h.until(s.services, rows[0].id, ["finalized"]);
  const found = await api.get(`/v0/contracts/${String(body["transaction_hash"])}?chain=goerli`);
  contract = String(found.body["contract_address"]).toLowerCase();
});
afterAll(async () => {
  await api?.stop();
  await s?.stop();
});

async function mintBatch(tokens: readonly object[], more: { key?: string; dryRun?: boolean } = {}) {
  const answer = await api.graphql(
    `mutation ($contract: Address!, $tokens: [MintTokenInput!]!, $key: String, $dryRun: Boolean) {
      mintBatch(chain: "goerli", contract: $contract, tokens: $tokens, idempotencyKey: $key, dryRun: $dryRun) {
        requests { id tokenId } results { request { id } userErrors { code field message } }
        userErrors { code field message } } }`,
    { contract, tokens, ...more },
  );
  expect(answer.errors).toBeUndefined();
  return answer.data["mintBatch"] as unknown as {
    requests: { id: string; tokenId: string }[];
    results: { request: { id: string } | null; userErrors: Json[] }[] | null;
    userErrors: { code: string; field: string | null; message: string }[];
  };
}

async function count(statement: string): Promise<number> {
  return (await s.services.pool.query(`SELECT count(*)::int AS count FROM ${statement}`)).rows[0].count;
}

test("equal tokens of a list are several mints without a key too, and the list again is the same mints", async () => {
  const token = { to: randomAddress(), uri };
  const first = await mintBatch([token, token, token]);
  expect(new Set(first.requests.map(({ id }) => id)).size).toBe(3);
  expect(new Set(first.requests.map(({ tokenId }) => tokenId)).size).toBe(3);
  const again = await mintBatch([token, token, token]);
  expect(again.requests).toEqual(first.requests);
});

test("under a key ids of a list differ in their last byte only, so that the operator has one word of storage for all", async () => {
  const tokens = [1, 2, 3].map(() => ({ to: randomAddress(), uri }));
  const { requests } = await mintBatch(tokens, { key: "one-word" });
  expect(new Set(requests.map(({ id }) => id.slice(0, -2))).size).toBe(1);
  expect(requests.map(({ id }) => Number.parseInt(id.slice(-2), 16))).toEqual([0, 1, 2]);
  expect((await mintBatch(tokens, { key: "one-word" })).requests).toEqual(requests);
  const other = await mintBatch(tokens, { key: "another" });
  expect(other.requests[0]?.id.slice(0, -2)).not.toBe(requests[0]?.id.slice(0, -2));
});

test("without a key a token has the same id in whichever list it is asked for, so that none is minted twice after lost rows", async () => {
  const tokens = [1, 2, 3].map(() => ({ to: randomAddress(), uri }));
  const plan = async (list: object[]) => {
    const { rows } = await s.services.pool.query("SELECT id FROM service.intent WHERE id = ANY ($1) ORDER BY id", [
      (await mintBatch(list)).requests.map(({ id }) => id),
    ]);
    return rows.map(({ id }) => id);
  };
  const all = await plan(tokens);
  expect(new Set(all.map((id: string) => id.slice(0, -2))).size).toBe(3);
  expect(await plan([tokens[2] ?? {}, tokens[0] ?? {}, tokens[1] ?? {}])).toEqual(all);
});

test("tokens of a list take 83,000 gas each and what their transaction takes once", async () => {
  const tokens = Array.from({ length: 16 }, () => ({ to: randomAddress(), uri }));
  const { requests } = await mintBatch(tokens, { key: "gas-of-a-list" });
  const ids = requests.map(({ id }) => id);
  await s.h.until(s.services, ids[0] ?? "", ["finalized"]);
  const { rows } = await s.services.pool.query<{ hash: Hex; tokens: number }>(
    `SELECT '0x' || encode(r.mined_attempt, 'hex') AS hash, count(*)::int AS tokens FROM service.intent i
     JOIN service.nonce_reservation r ON r.intent_id = coalesce(i.batch_lead, i.id)
     WHERE i.id = ANY ($1) GROUP BY 1 ORDER BY 2 DESC LIMIT 1`,
    [ids],
  );
  const [most] = rows;
  if (!most) throw new Error("no transaction");
  const { gasUsed } = await s.h.chain.getTransactionReceipt({ hash: most.hash });
  // Its base, and the operator's storage word.
  const once = 65_000n;
  expect(gasUsed).toBeLessThan(once + 83_000n * BigInt(most.tokens));
});

test("a token that the chain refuses hides none of the others, and is named", async () => {
  const refused = { to: s.h.operator?.address ?? "", uri };
  const good = [randomAddress(), randomAddress()].map((to) => ({ to, uri }));
  const list = [good[0], refused, good[1]] as object[];
  const { requests, results, userErrors } = await mintBatch(list, { key: "one-refused" });
  expect(requests).toHaveLength(2);
  expect(results).toMatchObject([
    { request: { id: requests[0]?.id }, userErrors: [] },
    { request: null, userErrors: [{ code: "value_error", field: "tokens[1]" }] },
    { request: { id: requests[1]?.id }, userErrors: [] },
  ]);
  expect(userErrors).toMatchObject([
    { code: "value_error", field: "tokens[1]", message: expect.stringContaining("would refuse") },
  ]);
  const plan = await mintBatch(list, { key: "only-planned", dryRun: true });
  expect(plan).toMatchObject({ requests: [], userErrors: [{ field: "tokens[1]" }] });
});

test("a list with a malformed token is not begun, and every fault in it is named", async () => {
  const before = await count("service.intent");
  const { requests, userErrors } = await mintBatch([
    { to: randomAddress(), uri },
    { to: randomAddress(), uri, quantity: "2" },
    { to: randomAddress() },
    { to: randomAddress(), uri, metadata: { name: "n", description: "", fileUrl: "ipfs://x" } },
  ]);
  expect(requests).toEqual([]);
  expect(userErrors.map(({ field }) => field)).toEqual(["tokens[3].uri"]);
  const unmixed = await mintBatch([
    { to: randomAddress(), uri },
    { to: randomAddress(), uri, quantity: "2" },
    { to: randomAddress() },
  ]);
  expect(unmixed.userErrors.map(({ field }) => field)).toEqual(["tokens[1].quantity", "tokens[2].uri"]);
  expect(await count("service.intent")).toBe(before);
});

test("a key that is too long for the places of the list is refused before anything is minted", async () => {
  const tokens = Array.from({ length: 11 }, () => ({ to: randomAddress(), uri }));
  const before = await count("service.intent");
  const { requests, userErrors } = await mintBatch(tokens, { key: "k".repeat(198) });
  expect(requests).toEqual([]);
  expect(userErrors).toMatchObject([{ code: "value_error", field: "idempotencyKey" }]);
  expect(await count("service.intent")).toBe(before);
});

test("each token's document is stored once", async () => {
  const tokens = [0, 1, 2, 3].map((number) => ({
    ...{ to: randomAddress(), metadata: { name: `n${number}`, description: "", fileUrl: "ipfs://x" } },
  }));
  const before = await count("service.upload");
  const { requests } = await mintBatch(tokens);
  expect(requests).toHaveLength(4);
  expect(await count("service.upload")).toBe(before + 4);
});

test("a list takes fewer transactions than tokens, and mints of the original interface one each", async () => {
  const tokens = Array.from({ length: 12 }, () => ({ to: randomAddress(), uri }));
  const { requests } = await mintBatch(tokens);
  expect(requests).toHaveLength(12);
  const read = async (id: string) =>
    (await api.graphql("query ($id: ID!) { mintRequest(id: $id) { state transactionHash } }", { id })).data[
      "mintRequest"
    ] as unknown as { state: string; transactionHash: string };
  const hashes = await Promise.all(requests.map(async ({ id }) => (await read(id)).transactionHash));
  expect(hashes.every((hash) => /^0x[0-9a-f]{64}$/.test(hash))).toBe(true);
  // How few depends on how many of them the machine simulates at once.
  expect(new Set(hashes).size).toBeLessThan(12);
  for (const { id } of requests) await s.h.until(s.services, id, ["finalized"]);

  const apart = await Promise.all(
    tokens.map(() =>
      api.post("/v0/mints/customizable", {
        ...{ chain: "goerli", contract_address: contract, metadata_uri: uri, mint_to_address: randomAddress() },
      }),
    ),
  );
  expect(new Set(apart.map(({ body }) => body["transaction_hash"])).size).toBe(12);
});

test("a list takes a place of the rate for each of its tokens", async () => {
  const tokens = Array.from({ length: 20 }, () => ({ to: randomAddress(), uri }));
  const remaining = async (count: number) => {
    const { headers } = await api.post("/graphql", {
      query: `mutation ($contract: Address!, $tokens: [MintTokenInput!]!) {
        mintBatch(chain: "goerli", contract: $contract, tokens: $tokens, dryRun: true) { userErrors { code } } }`,
      variables: { contract: randomAddress(), tokens: tokens.slice(0, count) },
    });
    return Number(headers.get("RateLimit-Remaining"));
  };
  const began = performance.now();
  const before = await remaining(1);
  const taken = before - (await remaining(20));
  // Places come back while this runs: five each second.
  const returned = Math.ceil((performance.now() - began) / 200) + 1;
  expect(taken).toBeGreaterThanOrEqual(20 - returned);
  expect(taken).toBeLessThanOrEqual(20);
});

test("a receiver with code goes alone, and what it does in the block is nothing to the others", async () => {
  const mints = new WaitingMints(s);
  const place = await mints.contract();
  const tokens = mints.wanted(4);
  const [greedy] = tokens;
  const become = (bytecode: Hex) => s.h.chain.setCode({ address: greedy?.to ?? "0x", bytecode });
  // While it is simulated it takes the token.
  await become(polite("erc721"));
  const ids = await mints.waiting(place, tokens);
  let hashes: string[] = [];
  await mints.inOneBlock(async () => {
    hashes = await mints.hashes(ids);
    await become(burnsAllGas);
  });
  const [own, ...shared] = hashes;
  expect(new Set(shared).size).toBe(1);
  expect(shared).not.toContain(own);
  await mints.settled(ids, ["finalized", "failed_onchain", "held"]);
  expect((await mints.states(ids)).slice(1)).toEqual(["finalized", "finalized", "finalized"]);
  expect(await mints.hashes(ids.slice(1))).toEqual(shared);
  for (const { to, tokenId } of tokens.slice(1)) expect(await mints.ownerOf(place, tokenId)).toBe(to);
  // It burned what its own mint was found to take, and a fifth.
  const { gasUsed } = await s.h.chain.getTransactionReceipt({ hash: own as Hex });
  expect(gasUsed).toBeLessThan(200_000n);
});

test("an account that gets code after its simulation fails for itself: the batch has gas for the others", async () => {
  const mints = new WaitingMints(s, 2_000n);
  const place = await mints.contract();
  const tokens = mints.wanted(4);
  const ids = await mints.waiting(place, tokens);
  let hashes: string[] = [];
  await mints.inOneBlock(async () => {
    hashes = await mints.hashes(ids);
    await s.h.chain.setCode({ address: tokens[0]?.to ?? "0x", bytecode: burnsAllGas });
  });
  expect(new Set(hashes).size).toBe(1);
  await mints.settled(ids, ["finalized", "failed_onchain"]);
  expect(await mints.states(ids)).toEqual(["failed_onchain", "finalized", "finalized", "finalized"]);
  expect(await mints.hashes(ids)).toEqual(hashes);
  for (const { to, tokenId } of tokens.slice(1)) expect(await mints.ownerOf(place, tokenId)).toBe(to);
});
