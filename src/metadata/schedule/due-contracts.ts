import { type Kysely, sql } from "kysely";
import type { Database } from "../../db/database.ts";

/** A contract that has tokens due, of one priority. */
export interface DueContract {
  contract: Buffer;
  priority: number;
}

const most = 4_000;
/** The list may take this part of a chain's time. */
const share = 0.05;

/**
 * Which contracts of a chain have tokens due. The list costs one index probe per contract, however
 * many tokens each has; where it is long it is made again only now and then.
 */
export class DueContracts {
  readonly #db: Kysely<Database>;
  readonly #chainId: number;
  #list: DueContract[] = [];
  #keepUntil = 0;

  constructor(db: Kysely<Database>, chainId: number) {
    this.#db = db;
    this.#chainId = chainId;
  }

  /** The most urgent first, equals in no order. */
  async read(): Promise<readonly DueContract[]> {
    const now = performance.now();
    if (now < this.#keepUntil) return this.#list;
    const { rows } = await sql<DueContract & { due: boolean }>`
      WITH RECURSIVE pair AS (
        (SELECT priority, contract, next_attempt_at FROM service.token_metadata
         WHERE chain_id = ${this.#chainId} AND next_attempt_at IS NOT NULL
         ORDER BY priority, contract, next_attempt_at LIMIT 1)
        UNION ALL
        SELECT n.priority, n.contract, n.next_attempt_at FROM pair p CROSS JOIN LATERAL (
          SELECT priority, contract, next_attempt_at FROM service.token_metadata
          WHERE chain_id = ${this.#chainId} AND next_attempt_at IS NOT NULL
            AND (priority, contract) > (p.priority, p.contract)
          ORDER BY priority, contract, next_attempt_at LIMIT 1
        ) n
      )
      SELECT priority, contract FROM pair WHERE next_attempt_at <= clock_timestamp() LIMIT ${most}`.execute(this.#db);
    const took = performance.now() - now;
    this.#list = shuffle(rows).sort((a, b) => a.priority - b.priority);
    // A short list is as good as free, and an empty one is asked for at the caller's own pace.
    this.#keepUntil = took > 20 ? now + took / share : 0;
    return this.#list;
  }
}

function shuffle<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, rank: Math.random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}
