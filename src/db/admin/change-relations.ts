import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { isAnalystSql } from "../../../schema/analyst-role.ts";
import { endSession } from "./analyst-sessions.ts";

/** Short enough for several looks within the shortest try. */
const lookEveryMs = 150;
/** SQLSTATE: a statement was given up because of `lock_timeout`. */
const lockNotAvailable = "55P03";
/** SQLSTATE: PostgreSQL chose this transaction as the deadlock's victim. */
const deadlockDetected = "40P01";

export interface LockWait {
  /** For one try. */
  seconds: number;
  tries: number;
  /** Earlier tries that give up sooner. */
  shortTries?: number;
}

/** Two minutes in total. */
const usualLockWait: LockWait = { seconds: 5, tries: 12, shortTries: 20 };
/**
 * A short try must give up before a reader has waited for a second (`deadlock_timeout`): PostgreSQL then looks for
 * deadlocks with this transaction's locks, and ends the reader. Only the longer tries, made when all short ones have
 * failed, may cost a reader its statement.
 */
const shortSeconds = 0.6;

/** Runs a statement that locks readers of a relation out until the transaction ends. */
export type Exclusively = (sql: string) => Promise<void>;

/**
 * Changes relations that others read, in one transaction. A try waits for locks only briefly, because all readers queue
 * behind it, and then starts again from the beginning: `work` may run several times, and only its last run counts.
 *
 * @param what for the error's text, such as `migration 0200_….sql`.
 * @param work runs the statements that lock readers out through `exclusively`; their waits add up to one try at most.
 * @param options `turn`: an advisory lock, for which processes of the service wait as long as it takes.
 * @throws Error with process id, user and statement of another session that kept its lock for too long.
 */
export async function changeRelations<T>(
  client: pg.Client,
  what: string,
  work: (exclusively: Exclusively) => Promise<T>,
  { turn, lockWait = usualLockWait }: { turn?: number; lockWait?: LockWait } = {},
): Promise<T> {
  const { seconds, tries, shortTries = 0 } = lockWait;
  return await withClearLocks(client, what, async () => {
    for (let tried = 1; ; tried += 1) {
      const waitSeconds = tried <= shortTries ? shortSeconds : seconds;
      await client.query("BEGIN");
      try {
        if (turn !== undefined) await client.query("SELECT pg_advisory_xact_lock($1)", [turn]);
        await client.query(`SET LOCAL lock_timeout = '${waitSeconds * 1_000}ms'`);
        const result = await work(exclusively(client, waitSeconds * 1_000));
        await client.query("COMMIT");
        return result;
      } catch (error) {
        await client.query("ROLLBACK").catch(() => undefined);
        if (!hasCode(error, [lockNotAvailable, deadlockDetected]) || tried >= shortTries + tries) throw error;
        await wait(waitSeconds * 500);
      }
    }
  });
}

/**
 * @param waitMs for the locks of all statements, counted from the first statement. PostgreSQL starts the time-out anew
 * for each lock of a statement, but only `DROP … CASCADE` takes several.
 */
function exclusively(client: pg.Client, waitMs: number): Exclusively {
  let until = 0;
  return async (sql) => {
    until ||= performance.now() + waitMs;
    // 0 would mean no limit.
    const left = Math.max(1, Math.floor(until - performance.now()));
    await client.query(`SET LOCAL lock_timeout = '${left}ms'`);
    await client.query(sql);
  };
}

function hasCode(error: unknown, codes: readonly string[]): boolean {
  return error instanceof pg.DatabaseError && codes.includes(error.code ?? "");
}

interface Blocker {
  pid: number;
  analyst: boolean;
  /** Who the session belongs to and what it runs, for people. */
  text: string;
}

/** While `run` runs, a second connection looks for sessions that block it; those of analysts are ended. */
async function withClearLocks<T>(client: pg.Client, what: string, run: () => Promise<T>): Promise<T> {
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  const watch = watchBlockers(client, rows[0]?.pid ?? 0);
  try {
    return await run();
  } catch (error) {
    if (!hasCode(error, [lockNotAvailable])) throw error;
    const others = watch.blockers().map(({ pid, text }) => `${text}; end it (SELECT pg_terminate_backend(${pid}))`);
    const who = others.length > 0 ? others.join(", and ") : "a session that is gone by now";
    throw new Error(`${what} waits for a lock of ${who}, or let it finish, and start again`, { cause: error });
  } finally {
    await watch.end();
  }
}

function watchBlockers(waiting: pg.Client, pid: number) {
  let last: Blocker[] = [];
  let ended = false;
  let looking: Promise<void> = Promise.resolve();
  let watcher: pg.Client | null = null;
  const look = async () => {
    watcher ??= await connectLike(waiting);
    const { rows } = await watcher.query<Blocker>(
      `SELECT b.pid, coalesce(${isAnalystSql("b.usesysid")}, false) AS analyst,
         format('process %s (user %s, %s, %s)', b.pid, b.usename, coalesce(nullif(b.application_name, ''), 'no application name'),
           coalesce('statement: ' || left(regexp_replace(b.query, '\\s+', ' ', 'g'), 200), 'statement unknown')) AS text
       FROM pg_stat_activity b WHERE b.pid = ANY (pg_blocking_pids($1))`,
      [pid],
    );
    for (const { pid: blocker, analyst } of rows) if (analyst) await endSession(watcher, blocker);
    // Between two tries nobody blocks; the error names those who blocked the last try.
    if (rows.length > 0) last = rows;
  };
  const timer = setInterval(() => {
    // Most changes are done before the first look; failed looks are ignored.
    looking = looking.then(() => (ended ? undefined : look().catch(() => undefined)));
  }, lookEveryMs);
  timer.unref();
  return {
    blockers: () => last,
    end: async () => {
      ended = true;
      clearInterval(timer);
      await looking;
      await watcher?.end().catch(() => undefined);
    },
  };
}

async function connectLike(client: pg.Client): Promise<pg.Client> {
  const { host, port, user, password, database, ssl } = client;
  const twin = new pg.Client({
    ...({ host, port, user, password, database, ssl } as pg.ClientConfig),
    ...{ application_name: "mintyard-lock-watch", connectionTimeoutMillis: 5_000 },
  });
  twin.on("error", () => undefined);
  await twin.connect();
  return twin;
}
