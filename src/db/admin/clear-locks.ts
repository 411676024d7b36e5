import pg from "pg";
import { isAnalystSql } from "../../../schema/analyst-role.ts";
import { endSession } from "./analyst-sessions.ts";

const lookEveryMs = 500;
const lockNotAvailable = "55P03";

interface Blocker {
  pid: number;
  analyst: boolean;
  /** Who it is and what it does, for people. */
  text: string;
}

/**
 * Runs statements that change relations (`lock_timeout` set by the caller, so that readers who queue up behind them
 * wait a bounded time). Meanwhile a second connection looks at who is in their way: an analyst's session is ended.
 *
 * @param what for the error's text, such as `migration 0200_….sql`.
 * @throws Error naming process id, user and statement of another session that kept its lock for too long.
 */
export async function withClearLocks<T>(client: pg.Client, what: string, run: () => Promise<T>): Promise<T> {
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  const watch = watchBlockers(client, rows[0]?.pid ?? 0);
  try {
    return await run();
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    const others = watch.blockers().map(({ pid, text }) => `${text}; end it (SELECT pg_terminate_backend(${pid}))`);
    const who = others.length > 0 ? others.join(", and ") : "a session that is gone by now";
    throw new Error(`${what} waits for a lock of ${who}, or let it finish, and start again`, { cause: error });
  } finally {
    await watch.end();
  }
}

/** @returns whether a statement was given up because of `lock_timeout`, whatever it was wrapped in. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof pg.DatabaseError
    ? error.code === lockNotAvailable
    : error instanceof Error && error.cause !== undefined && isLockTimeout(error.cause);
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
    ...{ host, port, ssl, application_name: "mintyard-lock-watch", connectionTimeoutMillis: 5_000 },
    ...{
      ...(user === undefined ? {} : { user }),
      ...(password ? { password } : {}),
      ...(database ? { database } : {}),
    },
  });
  twin.on("error", () => undefined);
  await twin.connect();
  return twin;
}
