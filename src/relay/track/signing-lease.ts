import { randomUUID } from "node:crypto";
import { type Kysely, sql } from "kysely";
import type { Chain } from "../../chains.ts";
import type { Database } from "../../db/database.ts";

const leaseMs = 3_000;
/** While another worker has the lease, it is not asked for. */
const elsewhereMs = 500;

/**
 * Which one of several workers signs on a chain. No lock: if two sign, the first commit of each step counts, and the other
 * one reads again.
 */
export class SigningLease {
  readonly #db: Kysely<Database>;
  readonly #chainId: number;
  readonly #worker = randomUUID();
  /** By this process's clock. */
  #until = 0;
  #elsewhere = 0;

  constructor(db: Kysely<Database>, { id }: Pick<Chain, "id">) {
    this.#db = db;
    this.#chainId = id;
  }

  /** Takes the lease, or makes it longer. */
  async holds(): Promise<boolean> {
    const now = performance.now();
    if (now < this.#elsewhere) return false;
    if (now < this.#until - leaseMs / 2) return true;
    const { rows } = await sql`
      INSERT INTO service.signing_worker AS held (chain_id, worker, until)
      VALUES (${this.#chainId}, ${this.#worker}, clock_timestamp() + make_interval(secs => ${leaseMs / 1_000}))
      ON CONFLICT (chain_id) DO UPDATE SET worker = excluded.worker, until = excluded.until
        WHERE held.worker = excluded.worker OR held.until < clock_timestamp()
      RETURNING 1`.execute(this.#db);
    if (rows.length === 0) {
      this.#elsewhere = now + elsewhereMs;
      return false;
    }
    // Counted from before the question: the database's lease ends later than this.
    this.#until = now + leaseMs;
    const old = sql`asked_at < clock_timestamp() - interval '1 hour'`;
    await sql`DELETE FROM service.signature_wait WHERE chain_id = ${this.#chainId} AND ${old}`.execute(this.#db);
    return true;
  }

  /** Another worker goes on at once. Never fails. */
  async leave(): Promise<void> {
    this.#until = 0;
    const leaving = sql`
      UPDATE service.signing_worker SET until = clock_timestamp()
      WHERE chain_id = ${this.#chainId} AND worker = ${this.#worker}`;
    await leaving.execute(this.#db).catch(() => undefined);
  }
}
