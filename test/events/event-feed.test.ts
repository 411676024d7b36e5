import pg from "pg";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { openStream } from "../../src/events/open-stream.ts";
import { EventFeed } from "../../src/outbox/event-feed.ts";
import { Notifications } from "../../src/outbox/notifications.ts";
import { numberEvents } from "../../src/outbox/read-events.ts";
import { ApiServer } from "../setup/api-server.ts";
import { patient } from "../setup/wait.ts";

let api: ApiServer;
let account: string;
beforeAll(async () => {
  api = await ApiServer.start({ RATE_LIMITS: "off" });
  ({ id: account } = await api.account("enterprise"));
});
afterAll(async () => await api?.close());

async function write(owner: string, type: string): Promise<void> {
  await api.database.pool.query("SELECT service.record_event($1, $2, $3, false, 31337, NULL, NULL, $4)", [
    ...[type, String(Math.random()), owner, JSON.stringify({ object: "x", state: type })],
  ]);
}

const until = async (condition: () => unknown) => await vi.waitFor(() => expect(condition()).toBeTruthy(), patient);

/** A feed of another process, with something that comes before each of its statements. */
function feedBehind(before: (query: string) => Promise<void>): EventFeed {
  const { pool } = api.database;
  const query = async (text: never, values: never) => {
    await before(typeof text === "string" ? text : (text as { text: string }).text);
    return await pool.query(text, values);
  };
  const { chains, logOnce } = api.services;
  return new EventFeed({
    ...{ pool: { query } as never, connection: { connectionString: api.database.url } },
    ...{ chains, logOnce },
  });
}

test("who comes from a process that has read more gets what follows, once, and is not told that anything is lost", async () => {
  let goOn: () => void = () => undefined;
  const held = new Promise<void>((done) => {
    goOn = done;
  });
  const feed = feedBehind(async (query) => {
    if (query.includes("events_after")) await held;
  });
  const caller = { accountId: account, tier: "enterprise", requestId: "r" } as const;
  const filter = { types: [], chains: [], contracts: [], accounts: [], tokenIds: [], finality: "latest" } as const;
  const services = { ...api.services, pool: api.database.pool, feed };
  const seen: bigint[] = [];
  const streams: Awaited<ReturnType<typeof openStream>>[] = [];
  try {
    // Somebody listens here, and the reading is behind.
    await feed.start();
    const listening = await openStream(services, caller, filter, null);
    streams.push(listening);
    const first = listening.next();
    await write(account, "deployment.queued");
    await write(account, "deployment.confirmed");
    const head = await numberEvents(api.database.pool);
    expect(feed.position).toBeLessThan(head);
    const coming = await openStream(services, caller, filter, head);
    streams.push(coming);
    const reading = (async () => {
      for await (const item of coming) {
        expect(item.kind).toBe("event");
        seen.push(item.sequence);
        if (seen.length === 1) return;
      }
    })();
    await write(account, "deployment.held");
    goOn();
    await Promise.all([first, reading]);
    expect(seen).toEqual([head + 1n]);
  } finally {
    goOn();
    for (const stream of streams) await stream.return();
    await feed.close();
  }
});

test("who listens to a feed that could not begin hears of events when it can", async () => {
  let failing = true;
  const feed = feedBehind(async () => {
    if (failing) throw new Error("no connection");
  });
  const seen: string[] = [];
  const filter = { types: [], chains: [], contracts: [], accounts: [], tokenIds: [], finality: "latest" } as const;
  try {
    await expect(feed.start()).rejects.toThrow("no connection");
    feed.listen({ accountId: account, filter, take: ({ row }) => seen.push(row.type) });
    failing = false;
    await write(account, "deployment.confirmed");
    await until(() => seen.length > 0);
  } finally {
    await feed.close();
  }
});

test("who begins to listen while another account's events are read gets the own ones of that moment", async () => {
  const { id: second } = await api.account("enterprise", "second");
  const { pool } = api.database;
  let reading: () => void = () => undefined;
  let goOn: () => void = () => undefined;
  const isReading = new Promise<void>((done) => {
    reading = done;
  });
  const held = new Promise<void>((done) => {
    goOn = done;
  });
  // The same database, which is slow with the content of accounts' events.
  const feed = feedBehind(async (query) => {
    if (!query.includes("ANY ($1::bigint[])")) return;
    reading();
    await held;
  });
  try {
    await feed.start();
    const filter = { types: [], chains: [], contracts: [], accounts: [], tokenIds: [], finality: "latest" } as const;
    const seen: Record<"first" | "second", string[]> = { first: [], second: [] };
    feed.listen({ accountId: account, filter, take: ({ row }) => seen.first.push(row.type) });
    // Both in one transaction, so in one batch.
    await pool.query(
      `SELECT service.record_event('deployment.confirmed', a::text, a, false, 31337, NULL, NULL, '{}')
       FROM unnest($1::uuid[]) WITH ORDINALITY AS x (a, n) ORDER BY n`,
      [[account, second]],
    );
    await isReading;
    feed.listen({ accountId: second, filter, take: ({ row }) => seen.second.push(row.type) });
    goOn();
    await until(() => seen.first.length > 0);
    await until(() => seen.second.length > 0);
    expect(seen).toEqual({ first: ["deployment.confirmed"], second: ["deployment.confirmed"] });
  } finally {
    await feed.close();
  }
});

test("commits notify of events only while somebody listens to them", async () => {
  const config = { connectionString: api.database.url };
  const client = new pg.Client(config);
  await client.connect();
  const heard: string[] = [];
  client.on("notification", ({ channel }) => heard.push(channel));
  // As earlier versions listen: without saying so.
  await client.query("LISTEN mintyard_events");
  const seen = async () => {
    const before = heard.length;
    await write(account, "deployment.queued");
    await client.query("SELECT 1");
    return heard.length - before;
  };
  expect(await seen()).toBe(0);
  const told: (string | null)[] = [];
  const notifications = new Notifications(config, ["mintyard_work"], (channel) => told.push(channel));
  await notifications.open();
  expect(await seen()).toBe(0);
  await notifications.hear("mintyard_events", true);
  await notifications.hear("mintyard_events", true);
  expect(await seen()).toBe(1);
  await until(() => told.includes("mintyard_events"));
  await notifications.hear("mintyard_events", false);
  expect(await seen()).toBe(0);
  await notifications.hear("mintyard_events", true);
  expect(await seen()).toBe(1);
  await notifications.close();
  const left = async () => (await seen()) === 0;
  await expect.poll(left, patient).toBe(true);
  await client.end();
});
