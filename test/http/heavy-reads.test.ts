import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiServer } from "../setup/api-server.ts";
import { addressOf, nobody } from "../setup/nft-fixture.ts";
import type { Answer } from "../setup/send.ts";
import { patient } from "../setup/wait.ts";

const [contract, alice] = [0xa1, 0x11].map(addressOf) as [string, string];
let api: ApiServer;
let key: string;

/** A server whose contract has two tokens, one of them with a trait. */
async function startFilled(env: Record<string, string> = {}): Promise<ApiServer> {
  const filled = await ApiServer.start(env);
  await filled.nfts.add([1n, 2n].map((tokenId) => ({ contract, tokenId, from: nobody, to: alice })));
  const row = { chain_id: 31337, contract: Buffer.alloc(20, 0xa1), token_id: "1", status: "fresh" as const };
  await filled.database.db
    .insertInto("service.token_metadata")
    .values({ ...row, name: "one", metadata: '{"attributes":[{"trait_type":"Fur","value":"red"}]}' })
    .execute();
  return filled;
}

beforeAll(async () => {
  // Long: on a busy machine a read that is held, or waits for one that is, must not end before the test has looked.
  api = await startFilled({ READ_TIMEOUT_MS: "900000", REPORT_TIMEOUT_MS: "900000", READ_WAIT_MS: "900000" });
  key = (await api.account("enterprise")).key;
});
afterAll(() => api?.close());

const field = (traits: string) =>
  `contract(chain: "goerli", address: "${contract}") { nfts(first: 1, traits: ${traits}) { nodes { tokenId } } }`;
const values = (count: number) => `[${Array.from({ length: count }, (_, at) => `"${at}"`).join()}]`;

/** Holds a table so that nobody can read it. @returns lets it go. */
async function hold(table: string, of = api): Promise<() => Promise<void>> {
  const holder = await of.database.pool.connect();
  await holder.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
  let held = true;
  return async () => {
    if (!held) return;
    held = false;
    await holder.query("ROLLBACK");
    holder.release();
  };
}

async function waitingStatements(of = api): Promise<number> {
  const { rows } = await of.database.pool.query(
    "SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  return rows[0].waiting;
}

const failure = ({ status, body }: Answer) => {
  const { message, extensions } = body.errors?.[0] ?? {};
  const error = extensions ?? body.error;
  return { status, code: error.code, fix: typeof error.fix, message: message ?? error.message };
};

test("a request may have eight trait conditions, every value counted, whichever way they are written", async () => {
  for (const allowed of [
    `{ ${field(`{ name: "Fur", values: ${values(8)} }`)} }`,
    `{ a: ${field(`{ or: [{ name: "Fur", values: ${values(6)} }, { name: "Level", min: 1 }] }`)} b: ${field('{ name: "x" }')} }`,
  ]) {
    expect((await api.graphql(key, allowed)).body.errors).toBeUndefined();
  }
  for (const refused of [
    `{ ${field(`{ name: "Fur", values: ${values(9)} }`)} }`,
    `{ ${field(`{ not: { or: [${Array.from({ length: 9 }, () => '{ name: "Fur" }').join()}] } }`)} }`,
    `{ a: ${field(`{ name: "Fur", values: ${values(5)} }`)} b: ${field(`{ name: "Fur", values: ${values(4)} }`)} }`,
  ]) {
    const { status, body } = await api.graphql(key, refused);
    expect(status).toBe(422);
    expect(body.errors[0].extensions).toMatchObject({
      code: "value_error",
      field: "traits",
      details: { most: 8, conditions: 9 },
    });
    expect(body.errors[0].message).toContain("ask for fewer");
  }
});

test("the price of a read is by what its statement may touch, however often the document came before", async () => {
  const query = `query ($v: [String!]) { ${field('{ name: "Fur", values: $v }')} }`;
  const cost = async (count: number) =>
    (await api.graphql(key, query, { v: JSON.parse(values(count)) })).body.extensions.cost.complexity;
  const [one, again, eight] = [await cost(1), await cost(1), await cost(8)];
  expect([again, eight - one]).toEqual([one, 7 * 150]);
  const requests = async (fields: string) => (await api.graphql(key, `{ ${fields} }`)).body.extensions.cost.requests;
  const of = `contract(chain: "goerli", address: "${contract}")`;
  expect(await requests(`${of} { nfts(first: 1) { nodes { tokenId } } }`)).toBe(1);
  for (const dear of [
    `${of} { statistics { ownerCount } }`,
    `${of} { traits { name } }`,
    `${of} { owners(first: 1) { totalCount } }`,
    `search(text: "one", first: 1) { name }`,
    `${of} { holders(first: 1, atBlock: 1) { nodes { tokenId } } }`,
  ]) {
    expect([dear, (await requests(dear)) > 1]).toEqual([dear, true]);
  }
  const { key: growing } = await api.account("growth");
  const taken = async (path: string) => {
    const { headers } = await api.send("GET", path, growing);
    return Number(headers.get("ratelimit-limit")) - Number(headers.get("ratelimit-remaining"));
  };
  expect(await taken("/v0/search?text=one")).toBeGreaterThanOrEqual(2);
  // What a deep page number skips is read all the same.
  expect(await taken(`/v0/nfts/${contract}?chain=goerli&page_number=15000`)).toBeGreaterThanOrEqual(9);
});

test("reads end after the time that is set for them, by every way, with their statement", async () => {
  const hasty = await startFilled({ READ_TIMEOUT_MS: "700", REPORT_TIMEOUT_MS: "1400" });
  const { key } = await hasty.account("enterprise");
  const release = await hold("service.token_trait, service.token_metadata", hasty);
  const query = `{ ${field('{ name: "Fur", values: ["red"] }')} }`;
  const late = (seconds: number) => ({
    ...{ status: 503, code: "read_timeout", fix: "string" },
    message: expect.stringContaining(`this read was ended after ${seconds} s`),
  });
  try {
    const replies = await Promise.all([
      hasty.graphql(key, query),
      hasty.send("GET", `/v0/nfts/${contract}?chain=goerli&include=metadata`, key),
      hasty.graphql(key, `{ search(text: "one") { name } }`),
      hasty.send("GET", "/v0/search?text=one", key),
    ]);
    expect(replies.map(failure)).toEqual([late(0.7), late(0.7), late(1.4), late(1.4)]);
    await expect.poll(() => waitingStatements(hasty), patient).toBe(0);
    await release();
    // The same document, now precompiled, fails alike and once.
    await expect.poll(async () => (await hasty.graphql(key, query)).status, patient).toBe(200);
    const again = await hold("service.token_trait", hasty);
    expect(failure(await hasty.graphql(key, query))).toEqual(late(0.7));
    await again();
  } finally {
    await release();
    await hasty.close();
  }
});

test("heavy reads run few at once, and no other read waits for them", async () => {
  const release = await hold("service.token_trait");
  const heavy: Promise<Answer>[] = [];
  let heavyAnswers = 0;
  const askMore = (count: number) => {
    // Some by the plan, some that nobody has seen before.
    for (let at = 0; at < count; at += 1)
      heavy.push(
        api.graphql(key, `{ x${at % 3}: ${field(`{ name: "Fur${heavy.length % 40}" }`)} }`).then((reply) => {
          heavyAnswers += 1;
          return reply;
        }),
      );
  };
  const seen: number[] = [];
  const look = async () => {
    seen.push(await waitingStatements());
    return seen.at(-1);
  };
  try {
    askMore(60);
    await expect
      .poll(async () => {
        askMore(1);
        return await look();
      }, patient)
      .toBe(2);
    const light = Array.from({ length: 30 }, async (_, at) => {
      const token = `{ t${at}: nft(chain: "goerli", contract: "${contract}", tokenId: 2) { owner } }`;
      const [one, two] = await Promise.all([
        api.graphql(key, token),
        api.send("GET", `/v0/accounts/${alice}?chain=goerli`, key),
      ]);
      return [one.body.data?.[`t${at}`]?.owner, two.body.total];
    });
    for (const found of await Promise.all(light)) expect(found).toEqual([alice, 2]);
    await look();
    expect([Math.max(...seen), heavyAnswers]).toEqual([2, 0]);
  } finally {
    await release();
  }
  for (const { status } of await Promise.all(heavy)) expect(status).toBe(200);
});

test("a client that goes away takes its statement with it, over HTTP too", async () => {
  const release = await hold("service.token_trait, service.token_metadata");
  const waiting = async (table: string) => {
    const { rows } = await api.database.pool.query(
      "SELECT count(*)::int AS waiting FROM pg_locks WHERE NOT granted AND relation = $1::regclass",
      [`service.${table}`],
    );
    return rows[0].waiting;
  };
  try {
    // Begun first, so it would be ended first.
    const staying = api.send("GET", "/v0/search?text=one", key);
    await expect.poll(() => waiting("token_metadata"), patient).toBe(1);
    const client = new AbortController();
    const leaving = fetch(`${api.url}/graphql`, {
      ...{ method: "POST", signal: client.signal, headers: { Authorization: key, "Content-Type": "application/json" } },
      body: JSON.stringify({ query: `{ contract(chain: "goerli", address: "${contract}") { traits { name } } }` }),
    }).catch(() => null);
    await expect.poll(() => waiting("token_trait"), patient).toBe(1);
    client.abort();
    await leaving;
    let stayed = 0;
    await expect
      .poll(async () => {
        stayed = await waiting("token_metadata");
        return await waiting("token_trait");
      }, patient)
      .toBe(0);
    expect(stayed).toBe(1);
    await release();
    expect((await staying).status).toBe(200);
  } finally {
    await release();
  }
});
