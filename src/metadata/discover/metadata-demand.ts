import { LRUCache } from "lru-cache";
import type pg from "pg";
import type { Caller } from "../../auth/caller.ts";
import { planOf } from "../../auth/plans.ts";
import { entryBound } from "../../cache-bounds.ts";
import { toBytes } from "../../db/bytes.ts";
import type { Logger } from "../../telemetry/log.ts";

/** What readers asked for: one token, a collection, what an account holds, or the newest tokens of a chain. */
export type DemandKind = "token" | "contract" | "account" | "chain";

const flushMs = 500;
/** The same demand is recorded once in this time. Of lists sooner again, since each time the next part of a list is queued. */
const quietMs: Record<DemandKind, number> = { token: 600_000, contract: 600_000, account: 5_000, chain: 5_000 };
/** The cache looks at the clock that often at most: each time it sets a timer. */
const clockMs = 500;
/** Demands in memory, and those that one statement stores. What is beyond is recorded when it is asked for again. */
const most = 10_000;
const zeroAddress = `0x${"00".repeat(20)}`;

interface Demand {
  chainId: number;
  kind: DemandKind;
  address: string;
  tokenId: string;
  /** Whose day pays if the token failed before and is tried again for this; null: nobody's. */
  account: string | null;
}

/** A token whose tries have ended is tried once more when it is asked for, no sooner than this after the last one. */
export const triedAgainAfter = "1 hour";

/** Whether an account may have one more token read again. */
type MayRetry = (accountId: string) => Promise<boolean>;

/**
 * Records what readers ask for, so that the worker reads its metadata first (`apply-demand.ts`). In memory, and stored about
 * twice a second: a read neither waits for it nor fails by it. What failed before is tried again as often as the account's
 * day has, where its plan counts days; beyond that a read is answered all the same and nothing is tried.
 */
export class MetadataDemand {
  readonly #pool: Pick<pg.Pool, "query" | "ended">;
  readonly #log: Logger;
  readonly #mayRetry: MayRetry;
  #waiting = new Map<string, Demand>();
  /** Demands that are not recorded again yet. */
  readonly #recorded = new LRUCache<string, true>({ ...entryBound(most), ttlResolution: clockMs });
  #timer: NodeJS.Timeout | null = null;

  constructor(pool: Pick<pg.Pool, "query" | "ended">, log: Logger, mayRetry: MayRetry = async () => true) {
    this.#pool = pool;
    this.#log = log;
    this.#mayRetry = mayRetry;
  }

  /** A reader asked for this token, and so for its collection. */
  token(caller: Caller, chainId: number, contract: string, tokenId: bigint): void {
    this.shown(caller, chainId, contract, String(tokenId));
    this.contract(chainId, contract);
  }

  /** A list showed this token, among those of other collections. */
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

  /** Stores what was recorded so far. Never fails: what cannot be stored is dropped, and recorded when it is asked for again. */
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

  /** Without those that would be tries of what failed, and that their account's day has no room for. */
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
