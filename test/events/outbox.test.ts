import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { beginSettling, switchOutbox } from "../../src/indexing/event-outbox.ts";
import { numberEvents } from "../../src/outbox/read-events.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { patient } from "../setup/wait.ts";
import { chainId, type OutboxEvent, OutboxLedger, Receiver, type Row } from "./outbox-ledger.ts";

let database: TestDatabase;
let ledger: OutboxLedger;
beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  await database.pool.query("DROP SCHEMA IF EXISTS nft CASCADE");
  await database.pool.query(`DROP SCHEMA IF EXISTS c${chainId}_told CASCADE`);
  await database.pool.query(`DROP SCHEMA IF EXISTS c${chainId}_newer CASCADE`);
  for (const table of ["event", "event_new", "event_interest", "event_index", "event_withdrawn", "event_retraction"])
    await database.pool.query(`DELETE FROM service.${table}`);
  ledger = await OutboxLedger.create(database.url);
});
afterAll(() => database?.drop());

async function told(finality: string): Promise<OutboxEvent[]> {
  const { rows } = await database.pool.query<OutboxEvent>(
    "SELECT * FROM service.event WHERE kind IS NOT NULL AND finality = $1 ORDER BY sequence",
    [finality],
  );
  return rows;
}

async function publish(newer: OutboxLedger): Promise<void> {
  const { client } = newer;
  await client.query("BEGIN");
  await switchOutbox(client, chainId, newer.schema);
  await client.query("UPDATE nft.index_version SET live = (schema_name = $1)", [newer.schema]);
  await client.query("COMMIT");
  await newer.attach();
}

const mint = (token: number, to = 1): Row => ({ token, from: 0, to });
const move = (token: number, from: number, to: number): Row => ({ token, from, to });

test("nothing is written before the index has caught up, and nothing that nobody wants", async () => {
  await ledger.want("latest");
  await ledger.extend([mint(1)]);
  expect(await ledger.number()).toBe(0n);
  await ledger.attach();
  await database.pool.query("DELETE FROM service.event_interest");
  await ledger.extend([mint(2)]);
  await ledger.want("latest", [Buffer.alloc(20, 101)]);
  await ledger.extend([mint(3), mint(4)]);
  await ledger.number();
  expect((await told("latest")).map(({ token_id }) => token_id)).toEqual(["4"]);
  await ledger.end();
});

test("a movement that a reorganisation takes back is told as taken back, by its id, the newest first", async () => {
  await ledger.want("latest");
  await ledger.attach();
  await ledger.extend([mint(1)]);
  await ledger.extend([move(1, 1, 2), mint(2)]);
  await ledger.takeBack(2);
  await ledger.extend([mint(1, 5)]);
  await ledger.number();
  const events = await told("latest");
  const [first, second, third] = events;
  expect(events.map(({ type }) => type.replace("nft.transfer", ""))).toEqual([
    ...["", "", "", ".retracted", ".retracted", ".retracted", ""],
  ]);
  expect(events.slice(3, 6).map(({ retracts }) => retracts)).toEqual([third?.id, second?.id, first?.id]);
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  await ledger.end();
});

test("a block that leaves the chain and comes back has another id each time", async () => {
  await ledger.want("latest");
  await ledger.attach();
  await ledger.extend([mint(1)]);
  for (let round = 0; round < 3; round += 1) await ledger.writeAgain(await ledger.takeBack(1));
  await ledger.number();
  const events = await told("latest");
  expect(new Set(events.map(({ id }) => id)).size).toBe(7);
  const receiver = new Receiver();
  for (const event of events) receiver.take(event);
  expect(receiver.owners()).toEqual(ledger.owners());
  await ledger.end();
});

test("what a restart of the index writes again is no event; what it does not write again is taken back", async () => {
  await ledger.want("latest");
  await ledger.attach();
  for (let token = 1; token <= 4; token += 1) await ledger.extend([mint(token)]);
  await ledger.number();
  const before = (await told("latest")).length;
  await ledger.restart(3, (gone) => ledger.writeAgain(gone));
  await ledger.number();
  expect(await told("latest")).toHaveLength(before);
  await ledger.restart(2, async ([same]) => {
    await ledger.writeAgain(same ? [same] : []);
    await ledger.extend([mint(9)]);
  });
  await ledger.number();
  expect((await told("latest")).slice(before).map(({ type, token_id }) => [type, token_id])).toEqual(
    [
      ["nft.transfer.retracted", "4"],
      ["nft.transfer", "9"],
    ].sort(([a]) => (a === "nft.transfer" ? -1 : 1)),
  );
  await ledger.end();
});

test("an index that takes another's place tells what the two differ in, and nothing else", async () => {
  await ledger.want("latest");
  await ledger.attach();
  await ledger.extend([mint(1)]);
  await ledger.extend([mint(2)]);
  const newer = await OutboxLedger.create(database.url, `c${chainId}_newer`);
  await newer.writeAgain(ledger.blocks.slice(0, 1));
  await newer.extend([]);
  await newer.extend([mint(3)]);
  await publish(newer);
  await newer.extend([mint(4)]);
  await newer.number();
  expect((await told("latest")).map(({ type, token_id }) => [type, token_id])).toEqual([
    ["nft.transfer", "1"],
    ["nft.transfer", "2"],
    ["nft.transfer.retracted", "2"],
    ["nft.transfer", "3"],
    ["nft.transfer", "4"],
  ]);
  await newer.end();
  await ledger.end();
});

test("an index that takes another's place takes back what the older one had taken out when it was stopped", async () => {
  await ledger.want("latest");
  await ledger.want("safe");
  await ledger.attach();
  for (let token = 1; token <= 3; token += 1) await ledger.extend([mint(token)]);
  await ledger.extend([]);
  await ledger.settle("safe", 4);
  const blocks = [...ledger.blocks];
  // Ponder starts again, takes out two blocks, and ends before it has written any.
  await beginSettling(ledger.client, ledger.schema);
  await ledger.takeBack(3);
  const newer = await OutboxLedger.create(database.url, `c${chainId}_newer`);
  // One of the two is on the chain still; the last block has a movement now.
  await newer.writeAgain(blocks.slice(0, 2));
  await newer.extend([]);
  await newer.extend([mint(4)]);
  await publish(newer);
  await newer.settle("safe", 4);
  await newer.number();
  for (const finality of ["latest", "safe"]) {
    const events = await told(finality);
    const receiver = new Receiver();
    for (const event of events) receiver.take(event);
    expect(receiver.owners(), finality).toEqual(newer.owners());
    expect(receiver.retractions, finality).toBe(1);
  }
  expect((await told("latest")).map(({ token_id }) => token_id)).toEqual(["1", "2", "3", "3", "4"]);
  await newer.end();
  await ledger.end();
});

test("what is of ERC-20 is told at no finality once that is known, and what was told before is taken back like any other", async () => {
  for (const level of ["latest", "safe", "finalized"]) await ledger.want(level);
  await ledger.attach();
  // Tokens 1, 4 and 7 are of one contract, which the index takes for a collection at first.
  const known = (fungible: boolean) =>
    database.pool.query(
      `INSERT INTO service.contract_metadata (chain_id, address, fungible) VALUES ($1, $2, $3)
       ON CONFLICT (chain_id, address) DO UPDATE SET fungible = excluded.fungible`,
      [chainId, Buffer.alloc(20, 101), fungible],
    );
  await ledger.extend([mint(1), mint(2)]);
  await known(true);
  await ledger.extend([mint(4), mint(5)]);
  await ledger.takeBack(2);
  await ledger.extend([mint(3)]);
  await ledger.extend([mint(7), mint(8)]);
  await ledger.settle("safe", 1);
  await ledger.settle("finalized", 2);
  const newer = await OutboxLedger.create(database.url, `c${chainId}_newer`);
  await newer.writeAgain(ledger.blocks);
  await newer.extend([mint(4), mint(6)]);
  await publish(newer);
  await newer.number();
  const ids = async (level: string) =>
    (await told(level)).map(({ type, token_id }) => (type === "nft.transfer" ? token_id : `-${token_id}`));
  expect(await ids("latest")).toEqual(["1", "2", "5", "-5", "-2", "-1", "3", "8", "6"]);
  expect(await ids("safe")).toEqual(["3", "8"]);
  expect(await ids("finalized")).toEqual(["3", "8"]);
  // A wrong guess.
  await known(false);
  await newer.extend([mint(7)]);
  await newer.number();
  expect((await ids("latest")).at(-1)).toBe("7");
  await database.pool.query("DELETE FROM service.contract_metadata");
  await newer.end();
  await ledger.end();
});

test("who begins to listen waits for a block that is being written, and misses nothing afterwards", async () => {
  await ledger.attach();
  const { client } = ledger;
  await client.query("BEGIN");
  await ledger.extend([mint(1)]);
  let wanted = false;
  const wanting = database.pool
    .query("SELECT service.want_events($1, '{}', 'latest', 60)", [chainId])
    .then(() => (wanted = true));
  await vi.waitFor(async () => {
    const waiting = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    expect((await database.pool.query(waiting)).rowCount).toBe(1);
  }, patient);
  expect(wanted).toBe(false);
  await client.query("COMMIT");
  await wanting;
  // Renewing is nobody's wait.
  await client.query("BEGIN");
  await ledger.extend([mint(2)]);
  await database.pool.query("SELECT service.want_events($1, '{}', 'latest', 60)", [chainId]);
  await client.query("COMMIT");
  await ledger.number();
  expect((await told("latest")).map(({ token_id }) => token_id)).toEqual(["2"]);
  await ledger.end();
});

test("a block that is written while an earlier one becomes safe is told as safe later", async () => {
  await ledger.want("safe");
  await ledger.attach();
  await ledger.extend([mint(1)]);
  const other = await database.pool.connect();
  await other.query("BEGIN");
  // The index's position can be ahead of its rows, just after a reorganisation.
  await other.query("SELECT service.tell_settled($1, 'safe', 2, '0xab')", [ledger.schema]);
  const writing = ledger.extend([mint(2)]);
  await vi.waitFor(async () => {
    const waiting = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    expect((await database.pool.query(waiting)).rowCount).toBe(1);
  }, patient);
  await other.query("COMMIT");
  other.release();
  await writing;
  await ledger.settle("safe", 2);
  await ledger.number();
  expect((await told("safe")).map(({ token_id }) => token_id)).toEqual(["1", "2"]);
  await ledger.end();
});

test("numbers are in the order of commits and have no gap, also beside a transaction that stays open", async () => {
  const { pool } = database;
  const { rows: start } = await pool.query<{ sequence: bigint }>("SELECT sequence FROM service.event_head");
  const slow = await pool.connect();
  const record = "SELECT service.record_event('webhook.test', $1, NULL, false, NULL, NULL, NULL, '{}')";
  await slow.query("BEGIN");
  await slow.query(record, ["slow"]);
  await pool.query(record, ["fast"]);
  expect(await ledger.number()).toBe((start[0]?.sequence ?? 0n) + 1n);
  await slow.query("COMMIT");
  slow.release();
  const aborted = await pool.connect();
  await aborted.query("BEGIN");
  await aborted.query(record, ["aborted"]);
  await aborted.query("ROLLBACK");
  aborted.release();
  await pool.query(record, ["last"]);
  // At once: each over a connection of its own.
  await Promise.all([1, 2, 3, 4].map(() => numberEvents(pool)));
  const { rows } = await pool.query<{ sequence: bigint; id: string }>(
    "SELECT sequence, id FROM service.event ORDER BY 1",
  );
  expect(rows.map(({ sequence }) => sequence - (start[0]?.sequence ?? 0n))).toEqual([1n, 2n, 3n]);
  await ledger.end();
});

/** What happens to a chain, with numbers that are cut to what is possible. */
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("extend" as const), rows: fc.integer({ min: 0, max: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("reorg" as const), depth: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("flip" as const), depth: fc.integer({ min: 1, max: 3 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("restart" as const),
      depth: fc.integer({ min: 0, max: 8 }),
      kept: fc.integer({ min: 0, max: 8 }),
      fresh: fc.integer({ min: 0, max: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("safe" as const), behind: fc.integer({ min: 0, max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("final" as const), behind: fc.integer({ min: 6, max: 12 }) }) },
);

test("whoever applies events by id has the chain's owners, at each finality, whatever happens to the chain", async () => {
  await ledger.end();
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      runs += 1;
      await database.pool.query(`DROP SCHEMA IF EXISTS nft, c${chainId}_told CASCADE`);
      for (const table of ["event", "event_new", "event_index", "event_withdrawn", "event_retraction"])
        await database.pool.query(`DELETE FROM service.${table}`);
      const chain = await OutboxLedger.create(database.url);
      for (const level of ["latest", "safe", "finalized"]) await chain.want(level);
      await chain.attach();
      let safe = 0;
      let tokens = 0;
      const top = () => chain.blocks.at(-1)?.number ?? 0;
      const rows = (count: number) =>
        Array.from({ length: count }, (_, at) => {
          const owners = [...chain.owners()];
          const [token, owner] = owners[(tokens * 7 + at) % Math.max(owners.length, 1)] ?? [0, 0];
          tokens += 1;
          return at % 2 === 0 || !token ? mint(tokens, (tokens % 5) + 1) : move(token, owner, (tokens % 5) + 1);
        });
      const open = (depth: number) => Math.min(depth, top() - chain.final);
      for (const one of steps) {
        if (one.kind === "extend") await chain.extend(rows(one.rows));
        if (one.kind === "reorg") {
          await chain.takeBack(open(one.depth));
          await chain.extend(rows(2));
        }
        if (one.kind === "flip") await chain.writeAgain(await chain.takeBack(open(one.depth)));
        if (one.kind === "restart")
          await chain.restart(open(one.depth), async (gone) => {
            await chain.writeAgain(gone.slice(0, one.kept));
            for (let at = 0; at < one.fresh; at += 1) await chain.extend(rows(2));
          });
        if (one.kind === "safe" && top() - one.behind > chain.final) {
          safe = Math.max(safe, top() - one.behind);
          await chain.settle("safe", safe);
        }
        if (one.kind === "final" && top() - one.behind > chain.final)
          await chain.settle("finalized", top() - one.behind);
        safe = Math.max(Math.min(safe, top()), chain.final);
      }
      const { rows: index } = await chain.client.query<{ safe_block: bigint }>(
        "SELECT safe_block FROM service.event_index",
      );
      await chain.number();
      const upto = { latest: undefined, safe: Number(index[0]?.safe_block), finalized: chain.final };
      for (const [level, number] of Object.entries(upto)) {
        const receiver = new Receiver();
        for (const event of await told(level)) receiver.take(event);
        expect([level, receiver.owners()]).toEqual([level, chain.owners(number)]);
        expect(receiver.repeated).toBe(0);
        if (level === "finalized") expect(receiver.retractions).toBe(0);
      }
      await chain.end();
    }),
    {
      numRuns: Number(process.env["EVENTS_RUNS"] ?? 25),
      // A block became final that had not been told as safe: who follows `safe` missed what was in it.
      examples: [
        [
          [
            { kind: "extend", rows: 2 },
            ...Array.from({ length: 6 }, () => ({ kind: "extend" as const, rows: 0 })),
            { kind: "final", behind: 6 },
            { kind: "reorg", depth: 1 },
            { kind: "safe", behind: 0 },
          ],
        ],
      ],
    },
  );
  expect(runs).toBeGreaterThanOrEqual(25);
});
