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

/** What one process remembers of a chain between rounds; losing it costs a repetition and nothing else. */
export interface RelayMemory {
  /** When (by this process's own clock, like all times here) the bytes of each intent were last sent. */
  sent: Map<string, number>;
  /** The same of nonces that were found in use. */
  sentFound: Map<string, number>;
  /** When each wallet's nonces in use were last asked for. */
  basisReadAt: Map<string, number>;
  /** When each wallet's forgotten transactions were last looked for. */
  foundReadAt: Map<string, number>;
  /** Rounds in a row in which an intent's nonce was used and none of its transactions was to be found. */
  missing: Map<string, number>;
  inBlocks: Pages;
  /** How far `listUnsigned` has come. */
  waiting: bigint;
  view: { at: number; reading: Promise<ChainView> } | null;
  /** For how long one look at the chain serves all rounds. */
  viewMs: number;
  /** Keeps other workers from signing the same; null where there are none. */
  lease: SigningLease | null;
  /** Requests of waiting clients that are worked on, and those that were tried in vain. */
  working: Map<string, Promise<void>>;
  tried: Map<string, Tried>;
}

/** A try to sign what a client waits for. */
export interface Tried {
  /** When its client had asked last, by the database's clock, and since when this process knows of that. */
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

/** Intents looked at at once; more would only queue at the node. */
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

/** One intent's trouble must not keep the others waiting. */
export async function attend(services: RelayContext, intent: Intent, work: () => Promise<void>): Promise<void> {
  try {
    await withSpan(
      `relay ${intent.kind}`,
      { "mintyard.intent": intent.id, "mintyard.state": intent.state },
      work,
      true,
    );
  } catch (error) {
    // A node that is away keeps all of them from it.
    const context = { intent: intent.id, state: intent.state, ...loggable(error) };
    services.logOnce.write("warn", `intent ${causeOf(error)}`, context, "an intent could not be moved on");
  }
}

/** @param all every set of bytes it ever had, not only the newest: after a reorganisation. */
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
