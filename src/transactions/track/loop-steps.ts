import { randomUUID } from "node:crypto";
import { type Kysely, sql } from "kysely";
import type { Chain } from "../../chains.ts";
import type { Database } from "../../db/database.ts";
import { loggable } from "../../rpc/nodes.ts";
import { Slots } from "../../slots.ts";
import { causeOf } from "../../telemetry/log-once.ts";
import { withSpan } from "../../telemetry/span.ts";
import type { RelayContext } from "../chain/context.ts";
import type { ChainView } from "../chain/view.ts";
import type { Intent } from "../store/intents.ts";
import { broadcast } from "../submit/broadcast.ts";
import { firstPages, type Pages } from "./watched-rows.ts";

const leaseMs = 3_000;
/** How long to wait before asking again for a lease that another worker has. */
const elsewhereMs = 500;

/**
 * Decides which of several workers signs on a chain. It is no lock: if two sign, the first commit of each step counts,
 * and the other worker reads again.
 */
export class SigningLease {
  readonly #db: Kysely<Database>;
  readonly #chainId: number;
  readonly #worker = randomUUID();
  /** When the lease ends, by this process's clock. */
  #until = 0;
  #elsewhere = 0;

  constructor(db: Kysely<Database>, { id }: Pick<Chain, "id">) {
    this.#db = db;
    this.#chainId = id;
  }

  /** Takes or extends the lease. @returns whether this worker has it. */
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
    // Counted from before the query: the database's lease ends later than this.
    this.#until = now + leaseMs;
    const old = sql`asked_at < clock_timestamp() - interval '1 hour'`;
    await sql`DELETE FROM service.signature_wait WHERE chain_id = ${this.#chainId} AND ${old}`.execute(this.#db);
    return true;
  }

  /** Gives the lease up, so that another worker goes on at once. Never fails. */
  async leave(): Promise<void> {
    this.#until = 0;
    const leaving = sql`
      UPDATE service.signing_worker SET until = clock_timestamp()
      WHERE chain_id = ${this.#chainId} AND worker = ${this.#worker}`;
    await leaving.execute(this.#db).catch(() => undefined);
  }
}

/** What one process remembers of a chain between rounds; losing it costs a repetition and nothing else. */
export interface RelayMemory {
  /** When the bytes of each intent were last sent (by this process's clock, like all times here). */
  sent: Map<string, number>;
  /** The same for recovered nonces. */
  sentFound: Map<string, number>;
  /** When each wallet was last reconciled. */
  basisReadAt: Map<string, number>;
  /** When each wallet's forgotten transactions were last looked for. */
  foundReadAt: Map<string, number>;
  /** Per intent, the consecutive rounds in which its nonce was used and none of its transactions had a receipt. */
  missing: Map<string, number>;
  inBlocks: Pages;
  /** The position that `listUnsigned` has reached. */
  waiting: bigint;
  view: { at: number; reading: Promise<ChainView> } | null;
  /** How long one reading of the chain serves all rounds. */
  viewMs: number;
  /** Keeps other workers from signing the same requests; null where there are none. */
  lease: SigningLease | null;
  /** Requests of waiting clients that are being worked on, and those that were tried without success. */
  working: Map<string, Promise<void>>;
  tried: Map<string, Tried>;
}

/** An unsuccessful attempt to sign a request that a client waits for. */
export interface Tried {
  /** When the client last asked, by the database's clock, and since when this process has known of that. */
  askedAt: Date;
  askedSince: number;
  at: number;
  /** Something has to change first: it is not tried again before its client asks again. */
  held: boolean;
  /** Why it waits, and when that was last written for its client. */
  reason: string | null;
  saidAt: number | undefined;
}

export function createRelayMemory(viewMs = 0, lease: SigningLease | null = null): RelayMemory {
  return {
    sent: new Map(),
    sentFound: new Map(),
    foundReadAt: new Map(),
    basisReadAt: new Map(),
    missing: new Map(),
    inBlocks: { ...firstPages },
    waiting: -1n,
    view: null,
    viewMs,
    lease,
    working: new Map(),
    tried: new Map(),
  };
}

/** Intents processed at once; more would only queue at the node. */
const parallel = 8;

export async function inParallel<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const slots = new Slots(parallel);
  const workOn = async (item: T) => {
    if (!signal?.aborted) await work(item);
  };
  await Promise.all(items.map((item) => slots.run(() => workOn(item))));
}

/** Runs one intent's work and logs its error, so that it does not keep the others waiting. */
export async function attend(services: RelayContext, intent: Intent, work: () => Promise<void>): Promise<void> {
  try {
    await withSpan(
      `relay ${intent.kind}`,
      { "mintyard.intent": intent.id, "mintyard.state": intent.state },
      work,
      true,
    );
  } catch (error) {
    // An outage of a node concerns all intents, so the log names the cause once.
    const context = { intent: intent.id, state: intent.state, ...loggable(error) };
    services.logOnce.write("warn", `intent ${causeOf(error)}`, context, "an intent could not be moved on");
  }
}

/** @param all sends every set of bytes ever signed, not only the newest: after a reorganisation. */
export async function send(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  memory: RelayMemory,
  all = false,
): Promise<void> {
  memory.sent.set(intent.id, performance.now());
  await broadcast(services, chain, intent, all ? 100 : 2);
}
