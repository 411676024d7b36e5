import { LRUCache } from "lru-cache";
import type pg from "pg";
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
}

/**
 * Records what readers ask for, so that the worker reads its metadata first (`apply-demand.ts`). In memory, and stored about
 * twice a second: a read neither waits for it nor fails by it.
 */
export class MetadataDemand {
  readonly #pool: Pick<pg.Pool, "query" | "ended">;
  readonly #log: Logger;
  #waiting = new Map<string, Demand>();
  /** Demands that are not recorded again yet. */
  readonly #recorded = new LRUCache<string, true>({ ...entryBound(most), ttlResolution: clockMs });
  #timer: NodeJS.Timeout | null = null;

  constructor(pool: Pick<pg.Pool, "query" | "ended">, log: Logger) {
    this.#pool = pool;
    this.#log = log;
  }

  /** A reader asked for this token, and so for its collection. */
  token(chainId: number, contract: string, tokenId: bigint): void {
    this.shown(chainId, contract, String(tokenId));
    this.contract(chainId, contract);
  }

  /** A list showed this token, among those of other collections. */
  shown(chainId: number, contract: string, tokenId: string): void {
    this.#record("token", chainId, contract, tokenId);
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

  #record(kind: DemandKind, chainId: number, anyCase: string, tokenId: string): void {
    const address = anyCase.toLowerCase();
    const key = `${kind}:${chainId}:${address}:${tokenId}`;
    if (this.#recorded.has(key) || this.#waiting.size >= most) return;
    this.#recorded.set(key, true, { ttl: quietMs[kind] });
    this.#waiting.set(key, { chainId, kind, address, tokenId });
    this.#timer ??= setTimeout(() => void this.flush(), flushMs).unref();
  }

  /** Stores what was recorded so far. Never fails: what cannot be stored is dropped, and recorded when it is asked for again. */
  async flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const demands = [...this.#waiting.values()];
    this.#waiting = new Map();
    if (demands.length === 0 || this.#pool.ended) return;
    try {
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
}
