import { Probe } from "./probe.ts";

interface Sample {
  /** Bytes of the write-ahead log that the primary had written. */
  position: bigint;
  at: number;
}

type Row = { position: string; system: string };

/** Samples are kept for as long as anybody could be behind and still be asked for how far. */
const keptMs = 600_000;

/**
 * Where the primary's log was at which time of this process's clock. A replica that has not replayed a
 * position yet is as old as that sample at least: no clock of another machine is believed, and a primary
 * where nothing is written lets no replica fall behind.
 */
export class PrimaryPositions {
  readonly #probe: Probe<Row>;
  #samples: Sample[] = [];
  /** Identifier that the primary shares with its standbys alone; null before it answered once. */
  system: string | null = null;

  constructor(databaseUrl: string, name: string) {
    this.#probe = new Probe(
      databaseUrl,
      name,
      `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::text AS position,
         (SELECT system_identifier FROM pg_control_system())::text AS system`,
    );
  }

  /** Records the position now. A primary that does not answer writes nothing that a replica could lack. */
  async look(): Promise<void> {
    const row = await this.#probe.ask().catch(() => null);
    if (!row) return;
    const position = BigInt(row.position);
    this.system = row.system;
    const now = performance.now();
    if (this.#samples.at(-1)?.position !== position) this.#samples.push({ position, at: now });
    // The newest one stays, however old: a replica that lacks it lacks it still.
    this.#samples = this.#samples.filter(({ at }, index, all) => at > now - keptMs || index === all.length - 1);
  }

  /** How long ago the primary was at a position that the replica has not reached, in seconds; 0: it lacks nothing. */
  lagOf(replayed: bigint): number {
    const lacking = this.#samples.find(({ position }) => position > replayed);
    return lacking ? (performance.now() - lacking.at) / 1_000 : 0;
  }

  async end(): Promise<void> {
    await this.#probe.end();
  }
}
