import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { backoffMs } from "../backoff.ts";
import type { Rounds } from "../rounds.ts";
import { causeOf, type LogOnce } from "../telemetry/log-once.ts";
import { type Channel, Notifications } from "./notifications.ts";

/** How often to check that notifications arrive, and how long they may take. */
const proofMs = 60_000;
const arrivalMs = 5_000;
const reconnect = { firstMs: 200, mostMs: 10_000 };

/**
 * Wakes a process's loops when PostgreSQL notifies it of work, or of events where they are wanted. It does not rely on
 * a connection on which none arrives, as behind a pooler that reassigns it after each transaction.
 *
 * @param connection parameters of a separate connection; `pool` uses the same connections as the other processes.
 */
export async function wakeRounds(
  { pool, logOnce }: { pool: Pick<pg.Pool, "query">; logOnce: LogOnce },
  connection: pg.ClientConfig,
  rounds: Rounds,
): Promise<void> {
  let arrived: (channel: Channel | null) => void = () => undefined;
  let proven = false;
  const notifications = new Notifications(connection, ["mintyard_work", "mintyard_proof"], (channel) => {
    proven = channel !== null;
    rounds.listening = proven;
    arrived(channel);
    if (channel !== null && channel !== "mintyard_proof") rounds.wake();
  });
  rounds.onEventsWanted = (wanted) =>
    notifications.hear("mintyard_events", wanted).then(
      () => rounds.wake(),
      // The connection is lost. When it is reopened, it has the channel too.
      () => undefined,
    );
  const pause = async (ms: number, ends: (channel: Channel | null) => boolean) => {
    const early = new AbortController();
    arrived = (channel) => ends(channel) && early.abort();
    const signal = AbortSignal.any([early.signal, rounds.signal]);
    await sleep(ms, undefined, { signal }).catch(() => undefined);
    arrived = () => undefined;
  };
  for (let failures = 0; !rounds.signal.aborted; ) {
    try {
      await notifications.open();
      proven = false;
      await pool.query("SELECT service.prove_listening()");
      if (!proven) await pause(arrivalMs, () => true);
      rounds.listening = proven;
      failures = 0;
    } catch (error) {
      failures += 1;
      rounds.listening = false;
      if (!rounds.signal.aborted)
        logOnce.write(
          "warn",
          `listening ${causeOf(error)}`,
          { err: error },
          "notifications do not arrive; work is polled for",
        );
    }
    // Other processes send proofs too. They do not end this pause.
    await pause(failures > 0 ? backoffMs(failures, reconnect) : proofMs, (channel) => channel === null);
  }
  await notifications.close();
}
