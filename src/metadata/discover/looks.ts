import { LRUCache } from "lru-cache";
import type pg from "pg";
import { entryBound } from "../../cache-bounds.ts";
import { toBytes } from "../../db/bytes.ts";
import type { Logger } from "../../telemetry/log.ts";

/** What somebody looked at: one token, a collection, what an account holds, or the newest tokens of a chain. */
export type LookKind = "token" | "contract" | "account" | "chain";

const flushMs = 500;
/** The same look is noted once in this time; of lists sooner again, since each time the next part of a list is queued. */
const quietMs: Record<LookKind, number> = { token: 600_000, contract: 600_000, account: 5_000, chain: 5_000 };
/** Looks in memory, and those that one statement stores. What is beyond is noted at the next look. */
const most = 10_000;
const nobody = `0x${"00".repeat(20)}`;

interface Look {
  chainId: number;
  kind: LookKind;
  address: string;
  tokenId: string;
}

/**
 * Notes what readers look at, so that the worker reads its metadata first (`apply-looks.ts`). In memory, and stored about
 * twice a second: a read neither waits for it nor fails by it.
 */
export class Looks {
  readonly #pool: Pick<pg.Pool, "query" | "ended">;
  readonly #log: Logger;
  #waiting = new Map<string, Look>();
  /** Looks that are not noted again yet. */
  readonly #noted = new LRUCache<string, true>(entryBound(most));
  #timer: NodeJS.Timeout | null = null;

  constructor(pool: Pick<pg.Pool, "query" | "ended">, log: Logger) {
    this.#pool = pool;
    this.#log = log;
  }

  /** Somebody asked for this token, and so for its collection. */
  token(chainId: number, contract: string, tokenId: bigint): void {
    this.shown(chainId, contract, String(tokenId));
    this.contract(chainId, contract);
  }

  /** A list showed this token, among those of other collections. */
  shown(chainId: number, contract: string, tokenId: string): void {
    this.#note("token", chainId, contract, tokenId);
  }

  contract(chainId: number, contract: string): void {
    this.#note("contract", chainId, contract, "0");
  }

  account(chainId: number, account: string): void {
    this.#note("account", chainId, account, "0");
  }

  newest(chainId: number): void {
    this.#note("chain", chainId, nobody, "0");
  }

  #note(kind: LookKind, chainId: number, anyCase: string, tokenId: string): void {
    const address = anyCase.toLowerCase();
    const key = `${kind}:${chainId}:${address}:${tokenId}`;
    if (this.#noted.has(key) || this.#waiting.size >= most) return;
    this.#noted.set(key, true, { ttl: quietMs[kind] });
    this.#waiting.set(key, { chainId, kind, address, tokenId });
    this.#timer ??= setTimeout(() => void this.flush(), flushMs).unref();
  }

  /** Stores what was noted so far. Never fails: what cannot be stored is forgotten, and noted at the next look. */
  async flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const looks = [...this.#waiting.values()];
    this.#waiting = new Map();
    if (looks.length === 0 || this.#pool.ended) return;
    try {
      await this.#pool.query({
        name: "note-looks",
        text: `INSERT INTO service.metadata_look (chain_id, kind, address, token_id)
          SELECT * FROM unnest($1::integer[], $2::text[], $3::bytea[], $4::numeric[]) ON CONFLICT DO NOTHING`,
        values: [
          looks.map(({ chainId }) => chainId),
          looks.map(({ kind }) => kind),
          looks.map(({ address }) => toBytes(address)),
          looks.map(({ tokenId }) => tokenId),
        ],
      });
    } catch (error) {
      this.#log.warn({ err: error }, "what readers looked at could not be noted");
      this.#noted.clear();
    }
  }
}
