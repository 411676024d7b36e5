import type pg from "pg";
import type { RpcGateway } from "./rpc-gateway.ts";

/** A start on a very busy machine is silent for half of this. */
const timeoutMs = 180_000;
const pollMs = 1_000;

/**
 * Detects a stalled backfill. Ponder 0.17.7 can lock itself up: a range of blocks that has to be
 * tried again waits for a database connection, while the ranges after it hold all of them and wait for it.
 * It then serves on, asks nothing, writes nothing, and says nothing.
 */
export class StallWatch {
  readonly #client: pg.ClientBase;
  readonly #gateway: Pick<RpcGateway, "activity">;
  readonly #schema: string;
  #sign = "";
  #unchangedSince = Date.now();
  #polledAt = 0;

  constructor(client: pg.ClientBase, gateway: Pick<RpcGateway, "activity">, schema: string) {
    this.#client = client;
    this.#gateway = gateway;
    this.#schema = schema;
  }

  /** True when nothing was asked, written or computed in the database for three minutes. */
  async isStalled(now = Date.now()): Promise<boolean> {
    if (now - this.#polledAt < pollMs) return false;
    this.#polledAt = now;
    const { served, running } = this.#gateway.activity();
    const { rows } = await this.#client.query<{ written: string; busy: boolean }>(
      // Without the table that holds Ponder's heartbeat.
      `SELECT (SELECT coalesce(sum(n_tup_ins + n_tup_upd), 0)::text FROM pg_stat_all_tables
          WHERE schemaname = $1 AND relname <> '_ponder_meta') AS written,
        EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
          AND (application_name LIKE $2 OR application_name = 'ponder_sync')
          AND state = 'active' AND query_start < clock_timestamp() - interval '1 second') AS busy`,
      [this.#schema, `${this.#schema}\\_%`],
    );
    const sign = `${served} ${rows[0]?.written ?? ""}`;
    if (sign !== this.#sign || running > 0 || rows[0]?.busy) {
      this.#sign = sign;
      this.#unchangedSince = now;
    }
    return now - this.#unchangedSince > timeoutMs;
  }

  /**
   * For the live part: true when the nodes have had newer blocks for three minutes and nothing was asked or written.
   * A websocket that announces heads can die without a word, and Ponder asks for none itself then.
   */
  async isStuckBelow(head: bigint, now = Date.now()): Promise<boolean> {
    const { rows } = await this.#client.query<{ behind: boolean }>(
      `SELECT substr(latest_checkpoint, 27, 16)::bigint < $1::bigint AS behind FROM "${this.#schema}"._ponder_checkpoint`,
      [String(head)],
    );
    if (rows[0]?.behind) return this.isStalled(now);
    this.#unchangedSince = now;
    return false;
  }
}
