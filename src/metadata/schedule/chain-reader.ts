import { setTimeout as sleep } from "node:timers/promises";
import { type Kysely, sql } from "kysely";
import type { Chain } from "../../chains.ts";
import type { Database } from "../../db/database.ts";
import type { Next, Rounds } from "../../rounds.ts";
import { applyAnnouncements } from "../discover/announcements.ts";
import { applyDemand } from "../discover/apply-demand.ts";
import { applyRefreshes, discover, readIndexHead, sweep } from "../discover/discover.ts";
import { dropDeadBranch, recordReadBlock } from "../discover/forks.ts";
import { type PinnedBlock, readHead } from "../read/call-contract.ts";
import { claimContracts, readContract } from "../store/contracts.ts";
import { claimTokens, type DueContract, listDueContracts, releaseToken } from "../store/queue.ts";
import { type ChainWork, type MetadataContext, readScheduled, type Shared } from "./token-reader.ts";

const sweepEveryMs = { local: 30_000, other: 600_000 };
/** `headMs`: how often an idle reader checks for new blocks in the index. */
const paces = {
  local: { periodMs: 200, headMs: 500 },
  other: { periodMs: 2_000, headMs: 2_000 },
};
const outageMs = 2_000;
const topUpMs = 100;
const contractsAtOnce = 8;
const countEveryMs = 1_000;
const mostDueContracts = 4_000;
/** The most of a chain's time that listing the contracts with due tokens may take. */
const dueShare = 0.05;

/** The loop of one chain: a node that is down stops only its own chain. */
export class ChainReader {
  readonly #work: ChainWork;
  readonly #rounds: Rounds;
  readonly #inFlight = new Set<Promise<void>>();
  #due: { contracts: DueContract[]; until: number } = { contracts: [], until: 0 };
  #seenHead: bigint | null = null;
  #discoveredTo = -1n;
  #discoveredAt = Number.NEGATIVE_INFINITY;
  #sweptAt = Number.NEGATIVE_INFINITY;
  #countedAt = Number.NEGATIVE_INFINITY;
  #checkedHead = "";
  #wake: () => void = () => undefined;

  constructor(services: MetadataContext, chain: Chain, shared: Shared, rounds: Rounds) {
    this.#work = { services, chain, client: services.rpc(chain), shared, signal: rounds.signal };
    this.#rounds = rounds;
  }

  async run(): Promise<void> {
    const { db, log } = this.#work.services;
    const { headMs, ...pace } = this.#work.chain.local ? paces.local : paces.other;
    const changed = async () => (await readIndexHead(db, this.#work.chain.id)) !== this.#seenHead;
    await this.#rounds.repeat(
      () => this.#round(pace.periodMs),
      { ...pace, rests: true, retryMs: outageMs, watch: { everyMs: headMs, changed } },
      { log: log.child({ chain: this.#work.chain.name }), failing: "metadata waits for an outage" },
    );
    await Promise.allSettled(this.#inFlight);
    await this.#release(true).catch(() => undefined);
  }

  async #round(periodMs: number): Promise<Next> {
    const { db } = this.#work.services;
    if (performance.now() - this.#discoveredAt >= periodMs) {
      await this.#discover();
      this.#discoveredAt = performance.now();
    }
    if (performance.now() - this.#countedAt >= countEveryMs) {
      await refreshStatistics(db);
      this.#countedAt = performance.now();
    }
    await this.#release(false);
    this.#startWaiting();
    const { scheduler } = this.#work.shared;
    const claims = scheduler.chooseClaims(this.#work.chain.id, await this.#readDue());
    const contracts = await claimContracts(db, this.#work.chain.id, contractsAtOnce);
    if (claims.length === 0 && contracts.length === 0) return await this.#untilOneEnds();
    const head = await this.#readHead();
    for (const job of contracts)
      this.#start(() =>
        readContract(db, this.#work.client, head, job, {
          calls: this.#work.shared.calls,
          sources: this.#work.shared.sources,
          cachedBase: `${this.#work.services.config.publicUrl}/ipfs`,
          signal: this.#rounds.signal,
        }),
      );
    if (claims.length > 0) {
      const jobs = await claimTokens(db, this.#work.chain.id, claims);
      scheduler.add(this.#work.chain.id, jobs, head);
    }
    this.#startWaiting();
    return await this.#untilOneEnds();
  }

  /** Waits until any job ends, so that one slow server does not keep the other permits unused. */
  async #untilOneEnds(): Promise<Next> {
    if (this.#inFlight.size === 0) return "rest";
    const { signal } = this.#rounds;
    const topUp = sleep(topUpMs, undefined, { signal }).catch(() => undefined);
    await Promise.race([
      new Promise<void>((done) => {
        this.#wake = done;
      }),
      topUp,
    ]);
    return "again";
  }

  #startWaiting(): void {
    const { scheduler } = this.#work.shared;
    for (let next = scheduler.begin(this.#work.chain.id); next; next = scheduler.begin(this.#work.chain.id)) {
      const scheduled = next;
      this.#start(async () => {
        try {
          await readScheduled(this.#work, scheduled);
        } finally {
          scheduler.end(scheduled);
        }
      });
    }
  }

  /** A fast query is repeated each time. The result of a slow one is reused for longer. */
  async #readDue(): Promise<readonly DueContract[]> {
    const begun = performance.now();
    if (begun < this.#due.until) return this.#due.contracts;
    const contracts = await listDueContracts(this.#work.services.db, this.#work.chain.id, mostDueContracts);
    const tookMs = performance.now() - begun;
    this.#due = { contracts, until: tookMs > 20 ? begun + tookMs / dueShare : 0 };
    return contracts;
  }

  async #readHead(): Promise<PinnedBlock> {
    const head = await readHead(this.#work.client);
    if (head.hash === this.#checkedHead) return head;
    const { db } = this.#work.services;
    if (await dropDeadBranch(db, this.#work.client, this.#work.chain.id, head))
      this.#work.services.log.info(
        { chain: this.#work.chain.name, block: head.number },
        "metadata of a dead branch is read again",
      );
    await recordReadBlock(db, this.#work.chain.id, head);
    this.#checkedHead = head.hash;
    return head;
  }

  async #discover(): Promise<void> {
    const { db, config } = this.#work.services;
    await applyRefreshes(db, this.#work.chain.id);
    const head = await readIndexHead(db, this.#work.chain.id);
    this.#seenHead = head;
    if (head === null) return;
    await applyDemand(db, this.#work.chain.id);
    if (head !== this.#discoveredTo) {
      const found = await discover(db, this.#work.chain.id, head, config.metadata);
      // A reorganisation may bring no new token, and still make earlier readings stale.
      await this.#readHead();
      // Repeated as long as it queues tokens: the index may still be writing rows of nearby blocks.
      if (!found) this.#discoveredTo = head;
    }
    await applyAnnouncements(db, this.#work.chain.id, head, config.metadata.refreshWindowSeconds);
    if (performance.now() - this.#sweptAt < (this.#work.chain.local ? sweepEveryMs.local : sweepEveryMs.other)) return;
    await sweep(db, this.#work.chain.id, config.metadata.firstTokens);
    this.#sweptAt = performance.now();
  }

  #start(work: () => Promise<void>): void {
    const running = work()
      .catch((error) =>
        this.#work.services.log.error({ err: error, chain: this.#work.chain.name }, "a metadata job broke"),
      )
      .finally(() => {
        this.#inFlight.delete(running);
        this.#wake();
      });
    this.#inFlight.add(running);
  }

  async #release(all: boolean): Promise<void> {
    const { services, shared, chain } = this.#work;
    for (const job of shared.scheduler.takeOverdue(chain.id, all)) await releaseToken(services.db, job, 0);
  }
}

/**
 * Runs ANALYZE on the tokens' metadata when a fifth of it changed. Autovacuum comes once a minute; until then a
 * collection of thousands that was just minted or revealed is planned as an empty table, and a page of it takes ten
 * times as long. Without the privilege it is left to autovacuum.
 */
async function refreshStatistics(db: Kysely<Database>): Promise<void> {
  const { rows } = await sql`
    SELECT FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
    WHERE s.relid = 'service.token_metadata'::regclass
      AND s.n_mod_since_analyze > 500 + greatest(c.reltuples, 0) / 5
      AND pg_has_role(c.relowner, 'USAGE')`.execute(db);
  if (rows.length > 0) await sql`ANALYZE (SKIP_LOCKED) service.token_metadata`.execute(db);
}
