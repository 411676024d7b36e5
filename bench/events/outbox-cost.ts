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
  /** On disk, with its indexes. */
  eventBytes: number;
}

/**
 * Writes the same movements into a ledger without the outbox and into one with it, block by block as Ponder does, twice:
 * the second time somebody wants the events. What Ponder itself does for a row comes on top in an index: there the
 * outbox's share is smaller than here.
 */
export async function compareOutbox(rows: number): Promise<OutboxCost> {
  const dir = mkdtempSync(join(tmpdir(), "mintyard-bench-"));
  const [port = 0] = await freePorts(1);
  const postgres = await startPostgres(dir, port);
  try {
    await migrate(postgres.url);
    // The name that the fixture takes for the index that is read.
    const written = await OutboxLedger.create(postgres.url);
    await written.attach();
    const plain = await OutboxLedger.create(postgres.url, "bench_plain");
    const first = [await fill(plain, rows), await fill(written, rows)] as const;
    await written.want("latest");
    const second = [await fill(plain, rows), await fill(written, rows)] as const;
    const { rows: found } = await written.client.query<{ events: string; bytes: string }>(
      `SELECT count(*) AS events, (SELECT sum(pg_total_relation_size(i.inhrelid)) FROM pg_inherits i
         WHERE i.inhparent = 'service.event'::regclass) AS bytes FROM service.event`,
    );
    await Promise.all([written.end(), plain.end()]);
    const events = Number(found[0]?.events);
    if (events !== rows) throw new Error(`${events} events of ${rows} rows`);
    return {
      unwantedShare: first[1] / first[0],
      onShare: second[1] / second[0],
      onPerSecond: second[1],
      eventBytes: Number(found[0]?.bytes) / events,
    };
  } finally {
    await postgres.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** @returns rows per second. */
async function fill(ledger: OutboxLedger, rows: number): Promise<number> {
  const first = ledger.blocks.length * rowsOfBlock;
  const began = performance.now();
  for (let written = 0; written < rows; written += rowsOfBlock)
    await ledger.extend(
      Array.from({ length: rowsOfBlock }, (_, at) => ({ token: first + written + at + 1, from: 0, to: 1 + (at % 97) })),
    );
  return rows / ((performance.now() - began) / 1_000);
}
