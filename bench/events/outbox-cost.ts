import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "../../src/db/admin/migrate.ts";
import { startPostgres } from "../../src/embedded/postgres.ts";
import { freePorts } from "../../src/free-port.ts";
import { OutboxLedger } from "../../test/events/outbox-ledger.ts";

const rowsOfBlock = 500;

/** Index rows per second that PostgreSQL takes, with all triggers of the ledger. */
interface OutboxCost {
  /** Throughput with the outbox's triggers while nobody wants the events, as a share of that without them. */
  unwantedShare: number;
  /** The same with an event for each row. */
  onShare: number;
  onPerSecond: number;
  /** Rate at which the reader numbers the events, in addition to the index's work. */
  numberedPerSecond: number;
  /** Size on disk, with indexes. */
  eventBytes: number;
}

/**
 * Writes blocks of transfers into a ledger as Ponder does, every other one with the outbox's triggers disabled; first
 * while nobody wants the events, then while somebody does. In a real index Ponder's own work for each row comes on top,
 * so the outbox's share is smaller than here.
 */
export async function compareOutbox(rows: number): Promise<OutboxCost> {
  const dir = mkdtempSync(join(tmpdir(), "mintyard-bench-"));
  const [port = 0] = await freePorts(1);
  const postgres = await startPostgres(dir, port);
  try {
    await migrate(postgres.url);
    // The fixture uses this name for the index that is read.
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

/** @returns the time for so many rows with the triggers, and for as many without. */
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
