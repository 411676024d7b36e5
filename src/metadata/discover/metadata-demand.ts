import { LRUCache } from "lru-cache";
import type pg from "pg";
import type { Caller } from "../../auth/caller.ts";
import { planOf } from "../../auth/plans.ts";
import { entryBound } from "../../cache-bounds.ts";
import { toBytes } from "../../db/bytes.ts";
import type { Logger } from "../../telemetry/log.ts";

/** What a client requested: one token, a collection, the tokens of an account, or the newest tokens of a chain. */
export type DemandKind = "token" | "contract" | "account" | "chain";

const flushMs = 500;
/** The same demand is recorded once within this time; for lists sooner, since each time their next part is queued. */
const quietMs: Record<DemandKind, number> = { token: 600_000, contract: 600_000, account: 5_000, chain: 5_000 };
/** How often the cache may read the clock: each time it sets a timer. */
const clockMs = 500;
/** The most demands in memory, and in one statement. Further ones are dropped, and recorded at their next request. */
const most = 10_000;
const zeroAddress = `0x${"00".repeat(20)}`;

interface Demand {
  chainId: number;
  kind: DemandKind;
  address: string;
  tokenId: string;
  /** The account whose daily budget pays for another try of a failed token; null: none. */
  account: string | null;
}

/** A token whose tries are used up is tried once more when it is requested, this long after the last try or later. */
export const triedAgainAfter = "1 hour";

/** Whether an account has budget left for another try of a failed token. */
type MayRetry = (accountId: string) => Promise<boolean>;

/**
 * Records what clients request, so that the worker reads its metadata first (`apply-demand.ts`). Demands are stored
 * about twice a second: a client's read neither waits for that nor fails because of it. Where a plan limits tries of
 * failed tokens per day, reads beyond the limit are still answered, without another try.
 */
export class MetadataDemand {
  readonly #pool: Pick<pg.Pool, "query" | "ended">;
  readonly #log: Logger;
  readonly #mayRetry: MayRetry;
  #waiting = new Map<string, Demand>();
  /** Recent demands, which are not recorded again yet. */
  readonly #recorded = new LRUCache<string, true>({ ...entryBound(most), ttlResolution: clockMs });
  #timer: NodeJS.Timeout | null = null;

  constructor(pool: Pick<pg.Pool, "query" | "ended">, log: Logger, mayRetry: MayRetry = async () => true) {
    this.#pool = pool;
    this.#log = log;
    this.#mayRetry = mayRetry;
  }

  /** A client requested this token, and so its collection. */
  token(caller: Caller, chainId: number, contract: string, tokenId: bigint): void {
    this.shown(caller, chainId, contract, String(tokenId));
    this.contract(chainId, contract);
  }

  /** A list contained this token, among those of other collections. */
  shown(caller: Caller, chainId: number, contract: string, tokenId: string): void {
    const account = planOf(caller).deployRequestsPerDay === null ? null : caller.accountId;
    this.#record("token", chainId, contract, tokenId, account);
  }

  contract(chainId: number, contract: string): void {
    this.#record("contract", chainId, contract, "0");
  }

  account(chainId: number, account: string): void {
    this.#record("account", chainId, account, "0");
  }

  newest(chainId: number): void {
    this.#record("chain", chainId, zeroAddress, "0");
  }

  #record(kind: DemandKind, chainId: number, anyCase: string, tokenId: string, account: string | null = null): void {
    const address = anyCase.toLowerCase();
    const key = `${kind}:${chainId}:${address}:${tokenId}:${account ?? ""}`;
    if (this.#recorded.has(key) || this.#waiting.size >= most) return;
    this.#recorded.set(key, true, { ttl: quietMs[kind] });
    this.#waiting.set(key, { chainId, kind, address, tokenId, account });
    this.#timer ??= setTimeout(() => void this.flush(), flushMs).unref();
  }

  /** Stores the demands recorded so far. On an error they are dropped, and recorded again at their next request. */
  async flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const waiting = [...this.#waiting.values()];
    this.#waiting = new Map();
    if (waiting.length === 0 || this.#pool.ended) return;
    try {
      const demands = await this.#admitted(waiting);
      if (demands.length === 0) return;
      await this.#pool.query({
        name: "record-metadata-demand",
        text: `INSERT INTO service.metadata_demand (chain_id, kind, address, token_id)
          SELECT * FROM unnest($1::integer[], $2::text[], $3::bytea[], $4::numeric[]) ON CONFLICT DO NOTHING`,
        values: [
          demands.map(({ chainId }) => chainId),
          demands.map(({ kind }) => kind),
          demands.map(({ address }) => toBytes(address)),
          demands.map(({ tokenId }) => tokenId),
        ],
      });
    } catch (error) {
      this.#log.warn({ err: error }, "the demand for metadata could not be stored");
      this.#recorded.clear();
    }
  }

  /** Removes demands for failed tokens that exceed their account's daily budget. */
  async #admitted(waiting: readonly Demand[]): Promise<readonly Demand[]> {
    const counted = waiting.filter(({ account }) => account !== null);
    if (counted.length === 0) return waiting;
    const { rows } = await this.#pool.query<{ place: number }>({
      name: "failed-metadata-demand",
      text: `SELECT d.place::int FROM unnest($1::integer[], $2::bytea[], $3::numeric[]) WITH ORDINALITY AS d (chain_id, contract, token_id, place)
        JOIN service.token_metadata m ON (m.chain_id, m.contract, m.token_id) = (d.chain_id, d.contract, d.token_id)
        WHERE m.status = 'failed' AND m.next_attempt_at IS NULL AND m.attempted_at < clock_timestamp() - $4::interval ORDER BY d.place`,
      values: [
        counted.map(({ chainId }) => chainId),
        counted.map(({ address }) => toBytes(address)),
        counted.map(({ tokenId }) => tokenId),
        triedAgainAfter,
      ],
    });
    const refused = new Set<Demand>();
    for (const { place } of rows) {
      const demand = counted[place - 1];
      if (demand?.account && !(await this.#mayRetry(demand.account))) refused.add(demand);
    }
    return waiting.filter((demand) => !refused.has(demand));
  }
}
