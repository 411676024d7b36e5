import type pg from "pg";

/** Whoever waits longer for a connection gets a further one. */
const patienceMs = 50;
const lookEveryMs = 1_000;
const calmLooks = 10;

/**
 * Lets a pool rest at few connections: each one is a process of PostgreSQL with about 5 MB. Loops that poll share
 * `rest` of them, although their short statements meet now and then. When requests wait for 50 ms, the pool grows by as
 * many connections, up to its `max`. When ten looks in a row, a second apart, find no more than `rest` in use,
 * connections end as they are given back, until there are `rest` again.
 *
 * @param rest how many connections stay, at least one.
 */
export function restAt(pool: pg.Pool, rest: number): void {
  const { options, connect } = pool;
  const most = options.max;
  const least = Math.min(rest, most);
  let timed = false;
  let watched = false;
  options.max = least;

  function grow(): void {
    timed = false;
    const more = Math.min(pool.waitingCount, most - pool.totalCount);
    if (pool.ending || more <= 0) return;
    options.max = pool.totalCount + more;
    options.maxUses = Number.POSITIVE_INFINITY;
    // The pool opens none for those who wait already. These open one each, and it goes to whoever waits longest.
    for (let opened = 0; opened < more; opened += 1)
      connect.call(pool, (error, client) => {
        if (!error) client?.release();
      });
    if (!watched) watch();
  }

  function watch(): void {
    watched = true;
    let calm = 0;
    const looks = setInterval(() => {
      calm = pool.totalCount - pool.idleCount > least ? 0 : calm + 1;
      if (calm < calmLooks && !pool.ending) return;
      clearInterval(looks);
      watched = false;
      options.max = least;
      if (pool.totalCount > least) options.maxUses = 1;
    }, lookEveryMs);
    looks.unref();
  }

  pool.on("remove", () => {
    if (pool.totalCount <= least) options.maxUses = Number.POSITIVE_INFINITY;
  });
  pool.connect = ((callback) => {
    const connecting = connect.call(pool, callback);
    // Also at the limit: those who begin to wait while it grows are seen when the time is up.
    if (pool.waitingCount > 0 && options.max < most && !timed) {
      timed = true;
      setTimeout(grow, patienceMs);
    }
    return connecting;
  }) as typeof pool.connect;
}
