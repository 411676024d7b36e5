import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "../../src/db/admin/migrate.ts";
import { startPostgres } from "../../src/embedded/postgres.ts";
import { freePorts } from "../../src/free-port.ts";
import { OutboxLedger } from "../../test/events/outbox-ledger.ts";

const rowsOfBlock = 500;

/** Rows per second that PostgreSQL takes of an index, with all triggers of the ledger. */
interface OutboxCost {
  /** With the outbox's triggers while nobody asked for the contracts, as a share of without them. */
  unwantedShare: number;
  /** The same with an event for each row. */
  onShare: number;
  onPerSecond: number;
  /** What a reader does with them beside the index: they get their numbers. */
  numberedPerSecond: number;
  /** On disk, with its indexes. */
  eventBytes: number;
}

/**
 * Writes blocks of movements into a ledger as Ponder does, every other one with the outbox's triggers switched off; first
 * while nobody wants the events, then while somebody does. What Ponder itself does for a row comes on top in an index:
 * there the outbox's share is smaller than here.
 */
export async function compareOutbox(rows: number): Promise<OutboxCost> {
  const dir = mkdtempSync(join(tmpdir(), "mintyard-bench-"));
  const [port = 0] = await freePorts(1);
  const postgres = await startPostgres(dir, port);
  try {
    await migrate(postgres.url);
    // The name that the fixture takes for the index that is read.
    const ledger = await OutboxLedger.create(postgres.url);
    const before = new Set(await triggersOf(ledger));
    await ledger.attach();
    const outbox = (await triggersOf(ledger)).filter((name) => !before.has(name));
    await fill(ledger, outbox, rowsOfBlock * 20);
    const unwanted = await fill(ledger, outbox, rows);
    await ledger.want("latest");
    const on = await fill(ledger, outbox, rows);
    const began = performance.now();
    await ledger.number();
    const numberedPerSecond = rows / ((performance.now() - began) / 1_000);
    const { rows: found } = await ledger.client.query<{ events: string; bytes: string }>(
      `SELECT count(*) AS events, (SELECT sum(pg_total_relation_size(i.inhrelid)) FROM pg_inherits i
         WHERE i.inhparent = 'service.event'::regclass) AS bytes FROM service.event`,
    );
    await ledger.end();
    const events = Number(found[0]?.events);
    if (events !== rows) throw new Error(`${events} events of ${rows} rows`);
    return {
      unwantedShare: unwanted.offMs / unwanted.onMs,
      onShare: on.offMs / on.onMs,
      onPerSecond: rows / (on.onMs / 1_000),
      numberedPerSecond,
      eventBytes: Number(found[0]?.bytes) / events,
    };
  } finally {
    await postgres.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function triggersOf({ client, schema }: OutboxLedger): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    "SELECT tgname AS name FROM pg_trigger WHERE tgrelid = $1::regclass AND NOT tgisinternal",
    [`"${schema}".transfer`],
  );
  return rows.map(({ name }) => name);
}

/** @returns how long so many rows took with the triggers, and as many without. */
async function fill(ledger: OutboxLedger, triggers: readonly string[], rows: number) {
  const took = { onMs: 0, offMs: 0 };
  for (let done = 0; done < rows; done += rowsOfBlock)
    for (const mode of (done / rowsOfBlock) % 2 === 0 ? (["on", "off"] as const) : (["off", "on"] as const)) {
      for (const name of triggers)
        await ledger.client.query(
          `ALTER TABLE "${ledger.schema}".transfer ${mode === "on" ? "ENABLE" : "DISABLE"} TRIGGER "${name}"`,
        );
      const first = ledger.blocks.length * rowsOfBlock;
      const block = Array.from({ length: rowsOfBlock }, (_, at) => ({
        token: first + at + 1,
        from: 0,
        to: 1 + (at % 97),
      }));
      const began = performance.now();
      await ledger.extend(block);
      took[`${mode}Ms`] += performance.now() - began;
    }
  return took;
}
