import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { EventStreams } from "../../src/http/event-streams.ts";
import { ApiServer } from "../setup/api-server.ts";
import { addressOf } from "../setup/nft-fixture.ts";
import { patient, wait } from "../setup/wait.ts";
import { openSse, type SseClient } from "./sse-client.ts";

let api: ApiServer;
let key: string;
let account: string;
const open = new Set<SseClient>();
beforeAll(async () => {
  api = await ApiServer.start({ RATE_LIMITS: "off" });
  ({ key, id: account } = await api.account("enterprise"));
});
afterEach(() => {
  for (const client of open) client.destroy();
  open.clear();
});
afterAll(async () => {
  await api?.close();
});

async function listen(query: string, headers: Record<string, string> = {}, as = key): Promise<SseClient> {
  const client = await openSse(`${api.url}/v1/events${query}`, { authorization: as, ...headers });
  open.add(client);
  return client;
}

/** Writes events as the triggers of the index do. */
async function tell(count: number, { contract = addressOf(0xaa), token = 1 } = {}): Promise<void> {
  await api.database.pool.query(
    `INSERT INTO service.event_new (type, id, chain_id, finality, contract, token_id, from_address, to_address, amount, standard,
       block_number, block_hash, block_timestamp, tx_hash, log_index, batch_index, kind)
     SELECT 'nft.transfer', service.event_id($1, n::text, clock_timestamp()::text), 31337, 'latest', $2, $3, $4, $5, 1, 'ERC721',
       n, decode(repeat('ab', 32), 'hex'), 1700000000, decode(repeat('cd', 32), 'hex'), n, 0, 'TRANSFER'
     FROM generate_series(1, $6::integer) n`,
    [
      String(Math.random()),
      ...[contract, token, addressOf(1), addressOf(2)].map((value) =>
        typeof value === "string" ? Buffer.from(value.slice(2), "hex") : value,
      ),
      count,
    ],
  );
}

async function write(owner: string | null, type: string, forOperator = false): Promise<void> {
  await api.database.pool.query("SELECT service.record_event($1, $2, $3, $4, 31337, NULL, NULL, $5)", [
    type,
    String(Math.random()),
    owner,
    forOperator,
    JSON.stringify({ object: "x", state: type }),
  ]);
}

const until = async (condition: () => unknown) => await vi.waitFor(() => expect(condition()).toBeTruthy(), patient);

test("an event comes as it is committed, with its place as id and the same body as a webhook's", async () => {
  const client = await listen("?types=nft.transfer&chain=goerli");
  expect(client.status).toBe(200);
  await tell(1);
  await until(() => client.events().length === 1);
  const [event] = client.events();
  expect(event).toMatchObject({
    id: event?.data.data.sequence,
    event: "nft.transfer",
    data: {
      type: "nft.transfer",
      data: {
        chain: "goerli",
        kind: "TRANSFER",
        tokenId: "1",
        amount: "1",
        blockNumber: "1",
        finality: "latest",
        retracts: null,
      },
    },
  });
  expect(event?.data.data.id).toMatch(/^evt_[0-9a-f]{32}$/);
  expect(event?.data.data.contract).toBe(addressOf(0xaa));
});

test("a filter narrows by contract, token, account and type, each time live and when it is resumed", async () => {
  const before = await listen("");
  await tell(1, { token: 0 });
  await until(() => before.events().length === 1);
  const start = before.events()[0]?.id ?? "";
  const queries = [
    [`?contract=${addressOf(0xbb).toUpperCase().replace("0X", "0x")}`, 2],
    ["?tokenId=7", 1],
    [`?account=${addressOf(1)}`, 3],
    [`?account=${addressOf(9)}`, 0],
    ["?types=chain.finalized", 0],
    ["?types=nft&finality=finalized", 0],
  ] as const;
  const live = await Promise.all(queries.map(([query]) => listen(query)));
  await tell(1, { contract: addressOf(0xbb) });
  await tell(1, { contract: addressOf(0xbb), token: 7 });
  await tell(1);
  await until(() => before.events().length === 4);
  const last = before.events().at(-1)?.id;
  for (const [at, [query, count]] of queries.entries()) {
    await until(() => live[at]?.events().length === count);
    const resumed = await listen(`${query}&after=${start}`);
    await until(() => resumed.events().filter(({ event }) => event !== "events.expired").length === count);
  }
  const all = await listen("", { "last-event-id": start });
  await until(() => all.events().at(-1)?.id === last);
  expect(all.events().map(({ id }) => id)).toEqual(
    before
      .events()
      .map(({ id }) => id)
      .slice(1),
  );
});

test("a client that is cut off again and again and resumes by its last id gets each event once", async () => {
  const got: string[] = [];
  const first = await listen(`?contract=${addressOf(0xcc)}`);
  await tell(1, { contract: addressOf(0xcc) });
  await until(() => first.events().length === 1);
  let last = first.events()[0]?.id ?? "";
  const writing = (async () => {
    for (let round = 0; round < 30; round += 1) await tell(7, { contract: addressOf(0xcc) });
  })();
  const cutOff = async () => {
    const client = await listen(`?contract=${addressOf(0xcc)}`, { "last-event-id": last });
    // Some events come in that time, on some machines; each client is cut off between two of them.
    await sleep(15);
    const events = client.events().filter(({ event }) => event === "nft.transfer");
    client.destroy();
    open.delete(client);
    got.push(...events.map(({ id }) => id ?? ""));
    last = got.at(-1) ?? last;
    return got.length;
  };
  await wait("all events", cutOff, { until: (length) => length >= 210 });
  await writing;
  const { rows } = await api.database.pool.query<{ sequence: bigint }>(
    "SELECT sequence FROM service.event WHERE contract = $1 ORDER BY 1 OFFSET 1",
    [Buffer.from(addressOf(0xcc).slice(2), "hex")],
  );
  expect(got).toEqual(rows.map(({ sequence }) => String(sequence)));
});

test("who was away for longer than events are kept is told so, and where it goes on", async () => {
  const now = await listen("");
  await tell(1);
  await until(() => now.events().length === 1);
  const client = await listen("?types=nft.transfer&finality=safe", { "last-event-id": "1" });
  await until(() => client.events().length > 0);
  expect(client.events()[0]).toMatchObject({ event: "events.expired", data: { data: { asked: "1" } } });
  const ahead = await listen("", { "last-event-id": "999999999999" });
  await until(() => ahead.events()[0]?.event === "events.expired");
});

test("an account's events come to it and to nobody else, and an operator's to no account", async () => {
  const other = await api.account("free", "other");
  const [mine, theirs] = [await listen(""), await listen("", {}, other.key)];
  await write(account, "deployment.confirmed");
  await write(null, "wallet.halted", true);
  await write(other.id, "deployment.held");
  await write(null, "chain.finalized");
  await until(
    () => mine.events().at(-1)?.event === "chain.finalized" && theirs.events().at(-1)?.event === "chain.finalized",
  );
  expect(mine.events().map(({ event }) => event)).toEqual(["deployment.confirmed", "chain.finalized"]);
  expect(mine.events()[0]?.data.data).toMatchObject({ object: "x" });
  expect(theirs.events().map(({ event }) => event)).toEqual(["deployment.held", "chain.finalized"]);
  const resumed = await listen(
    "?types=deployment",
    { "last-event-id": String(BigInt(mine.events()[0]?.id ?? "1") - 1n) },
    other.key,
  );
  await until(() => resumed.events().filter(({ event }) => event !== "events.expired").length === 1);
  expect(resumed.events().at(-1)?.event).toBe("deployment.held");
});

/** A process believes what it knew of a key for 0.8 seconds. */
const forgetKeys = () => sleep(1_200);

test("a key that is ended ends its streams before the next event", async () => {
  const made = await api.send("POST", "/v0/me/keys", key, { name: "short", scopes: ["read"] });
  const client = await listen("", {}, made.body.api_key);
  expect(client.status).toBe(200);
  await api.send("DELETE", `/v0/me/keys/${made.body.key.id}`, key);
  await forgetKeys();
  await write(account, "deployment.queued");
  await until(() => client.ended());
  expect(client.events().map(({ event }) => event)).toEqual(["error"]);
  expect(client.events()[0]?.data.error.code).toBe("invalid_credentials");
});

test("a key that loses its scope or expires, or whose account is suspended, gets no further event", async () => {
  const own = await api.account("enterprise", "leaving");
  const { pool } = api.database;
  const endings = [
    ["UPDATE service.api_key SET scopes = '{upload}' WHERE id = $1", "scope_missing"],
    [
      "UPDATE service.api_key SET expires_at = clock_timestamp() - interval '1 second' WHERE id = $1",
      "invalid_credentials",
    ],
    [
      "UPDATE service.account SET suspended = true WHERE id = (SELECT account_id FROM service.api_key WHERE id = $1)",
      "account_suspended",
    ],
  ] as const;
  for (const [change, code] of endings) {
    const made = await api.send("POST", "/v0/me/keys", own.key, { name: "short", scopes: ["read"] });
    const client = await listen("?types=deployment", {}, made.body.api_key);
    await write(own.id, "deployment.queued");
    await until(() => client.events().length === 1);
    await pool.query(change, [made.body.key.id]);
    await forgetKeys();
    await write(own.id, "deployment.confirmed");
    await until(() => client.ended());
    expect(client.events().map(({ event }) => event)).toEqual(["deployment.queued", "error"]);
    expect(client.events()[1]?.data.error.code).toBe(code);
  }
});

test("each event is read once for all streams, and nothing is asked of the database by one that waits", async () => {
  const ours = await Promise.all(Array.from({ length: 15 }, () => listen(`?contract=${addressOf(0xdd)}`)));
  const { counts } = api.services.feed;
  const before = counts.events;
  await tell(20, { contract: addressOf(0xdd) });
  await until(() => ours.every((client) => client.events().length === 20));
  expect(counts.events - before).toBe(20);
});

test("a GraphQL subscription tells the same events, with the place to resume from", async () => {
  const rest = await listen(`?contract=${addressOf(0xee)}`);
  const subscribe = async (document: string) => {
    const url = new URL("/graphql", api.url);
    url.searchParams.set("query", `subscription { ${document} { cursor type id data } }`);
    const client = await openSse(url.href, { authorization: key });
    open.add(client);
    return client;
  };
  const filter = `filter: { contracts: ["${addressOf(0xee)}"] }`;
  const [events, transfers] = [await subscribe(`events(${filter})`), await subscribe(`transfers(${filter})`)];
  await tell(3, { contract: addressOf(0xee) });
  const next = (client: SseClient) => client.events().filter(({ event }) => event === "next");
  await until(() => next(events).length === 3 && next(transfers).length === 3 && rest.events().length === 3);
  const seen = rest
    .events()
    .map(({ id, event, data }) => ({ cursor: id, type: event, id: data.data.id, data: data.data }));
  expect(next(events).map(({ data }) => data.data.events)).toEqual(seen);
  expect(next(transfers).map(({ data }) => data.data.transfers)).toEqual(seen);
  const resumed = await subscribe(`transfers(${filter}, after: "${seen[0]?.cursor}")`);
  await until(() => next(resumed).length === 2);
  expect(next(resumed).map(({ data }) => data.data.transfers)).toEqual(seen.slice(1));
});

test("what is wrong is refused by name", async () => {
  const refusals = [
    ["?types=nft.transfers", 422, "types"],
    ["?chain=moon", 422, "chain"],
    ["?contract=0x12", 422, "contracts[0]"],
    ["?tokenId=-1", 422, "tokenIds"],
    ["?finality=soon", 422, "finality"],
    ["?after=abc", 422, "after"],
    ["?colour=red", 422, "colour"],
    [`?${Array.from({ length: 101 }, (_, at) => `tokenId=${at}`).join("&")}`, 422, "tokenIds"],
  ] as const;
  for (const [query, status, field] of refusals) {
    const reply = await fetch(`${api.url}/v1/events${query}`, { headers: { authorization: key } });
    const body = (await reply.json()) as { detail?: { loc: string[] }[] };
    expect([query, reply.status, body.detail?.[0]?.loc[0]]).toEqual([query, status, field]);
  }
  expect((await fetch(`${api.url}/v1/events`)).status).toBe(401);
});

test("a stream that nobody reads ends within its time, and gives its place back", async () => {
  let returned = false;
  const endless = (async function* () {
    try {
      for (;;) yield "x".repeat(65_536);
    } finally {
      returned = true;
    }
  })();
  const streams = new EventStreams({ unreadMs: 300 });
  let served: Promise<void> | null = null;
  const server = createServer((_request, response) => {
    served = streams.serve(
      response,
      {},
      {
        events: endless,
        textOf: (event) => JSON.stringify(event),
        eventOf: (error) => error.message,
        check: async () => undefined,
      },
    );
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.pause();
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await until(() => served !== null);
  await served;
  await until(() => returned);
  socket.destroy();
  await new Promise((done) => server.close(done));
});
