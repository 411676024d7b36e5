import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { isAnalystSql } from "../../../schema/analyst-role.ts";
import { endSession } from "./analyst-sessions.ts";

/** Several looks in the shortest try. */
const lookEveryMs = 150;
/** A statement was given up because of `lock_timeout`. */
const lockNotAvailable = "55P03";
/** PostgreSQL chose this transaction to be the one that gives up. */
const deadlockDetected = "40P01";

export interface LockWait {
  /** Of one try. */
  seconds: number;
  tries: number;
  /** Tries before these that give up sooner. */
  shortTries?: number;
}

/** Two minutes in all. */
const usualLockWait: LockWait = { seconds: 5, tries: 12, shortTries: 20 };
/**
 * Of a short try. A reader may hold one of the relations and wait for another that this transaction has taken. PostgreSQL
 * looks for such circles once a reader has waited for a second (`deadlock_timeout`), and ends it. By then this transaction
 * has given up, and the reader goes on. Only the longer tries, when all short ones were in vain, may cost a reader.
 */
const shortSeconds = 0.6;

/** Runs a statement that keeps readers of a relation out until the transaction ends. */
export type Exclusively = (sql: string) => Promise<void>;

/**
 * Changes relations that others read, in one transaction. A try waits for locks for a short time, since all readers wait
 * behind it, and is then made again from its beginning: `work` may run several times, and only its last run counts.
 *
 * @param what for the error's text, such as `migration 0200_….sql`.
 * @param work has the statements that lock readers out run by `exclusively`; their waits together are as long as one try.
 * @param options `turn`: an advisory lock, for which processes of the service wait as long as it takes.
 * @throws Error naming process id, user and statement of another session that kept its lock for too long.
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
 * @param waitMs for the locks of all statements, from when the first one is run. PostgreSQL counts it anew for each lock
 *   of one statement, of which only `DROP … CASCADE` has several.
 */
function exclusively(client: pg.Client, waitMs: number): Exclusively {
  let until = 0;
  return async (sql) => {
    until ||= performance.now() + waitMs;
    // 0 would be no limit at all.
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
  /** Who it is and what it does, for people. */
  text: string;
}

/** Meanwhile a second connection looks at who is in the way of `run`: an analyst's session is ended. */
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
    // Between two tries nobody is in the way; the error is about those of the last one.
    if (rows.length > 0) last = rows;
  };
  const timer = setInterval(() => {
    // Most changes are through before the first look; a look that fails is none.
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
