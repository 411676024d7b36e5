import { readFile, writeFile } from "node:fs/promises";
import { constants, setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { type ReadLimits, usualReadLimits } from "../../config/read-limits.ts";
import { openPipelinedConnections, type PipelinedConnections } from "../pipeline/pipelined-connections.ts";
import type { DatabaseTime } from "./database-time.ts";
import { connectionOptions, createPool } from "./pool.ts";
import { ReadConnections } from "./read-connections.ts";

/** The connections of one server that read the index, by what the reads cost. */
export interface Reads {
  pipelined: PipelinedConnections;
  reads: ReadConnections;
  heavy: ReadConnections;
}

/** Connections for reads that are neither on the fast path nor heavy. */
const maxReads = 4;
/** Heavy reads: one for free accounts, and one that they never have. */
const leastHeavy = 2;
/** Reads of one kind that wait for a connection, of free accounts and of all others each. */
const maxWaiting = 256;
/** A cancel request ends a read in time; the server does when no such request arrives. */
const cancelMs = 1_000;

/**
 * Opens them, each kind separate from the others and from the writing pool, so that none waits for a dearer one.
 *
 * @param heavyReads that run at once, two at least. Each takes one core of the database. Free accounts have half of them.
 * @param limits how long reads may take.
 * @param time what accounts may have of the database for heavy reads; null: nobody is charged.
 * @param lowerPriority the server's processes run on this machine: those of heavy reads have the processor after others.
 */
export function openReads(
  databaseUrl: string,
  name: string,
  {
    tenants,
    heavyReads,
    limits = usualReadLimits,
    time = null,
    lowerPriority = false,
  }: { tenants: boolean; heavyReads: number; limits?: ReadLimits; time?: DatabaseTime | null; lowerPriority?: boolean },
): Reads {
  const pool = (kind: string, most: number, statementTimeout: number) =>
    createPool(databaseUrl, `${name}-${kind}`, most, { tenants, statementTimeout, reads: true });
  const mostHeavy = Math.max(leastHeavy, heavyReads);
  const heavy = pool("heavy", mostHeavy, limits.report + cancelMs);
  if (lowerPriority) heavy.on("connect", (client) => void lowerBackendPriority(client));
  const bounds = { waiting: maxWaiting, limitMs: limits.read, waitMs: limits.wait };
  return {
    pipelined: openPipelinedConnections(
      connectionOptions(databaseUrl, name, { tenants, statementTimeout: limits.read }),
      limits.read,
    ),
    reads: new ReadConnections(pool("reads", maxReads, limits.read + cancelMs), {
      most: maxReads,
      mostOfFree: maxReads - 1,
      ...bounds,
    }),
    heavy: new ReadConnections(heavy, {
      most: mostHeavy,
      mostOfFree: Math.max(1, Math.floor(heavyReads / 2)),
      ...{ ...bounds, time },
    }),
  };
}

export async function closeReads({ pipelined, reads, heavy }: Reads): Promise<void> {
  pipelined.close();
  await Promise.all([reads.end(), heavy.end()]);
}

/**
 * Lets the server's process behind a connection have the processor after everybody else, so that a statement that takes a
 * whole core for seconds delays no answer. Only for a server on this machine, under this login; never
 * fails. It still gets some of each core, since fast-path reads may wait for what it holds. Only a statement that ends
 * within its time may have this: what has to keep up with a chain would fall behind for as long as other programs are busy.
 */
async function lowerBackendPriority(client: pg.ClientBase): Promise<void> {
  const { processID: pid } = client as pg.ClientBase & { processID?: number | null };
  if (!pid) return;
  // A server in another container numbers its own processes: the same number may be another program's here.
  if (process.platform === "linux" && !(await nameOf(pid)).startsWith("postgres")) return;
  try {
    await lowerSession(pid);
  } catch {
    // It has ended already.
  }
}

/**
 * Linux divides the processor between sessions first (autogroups), and a nice value counts only within one, so the session
 * of the server's process gets the same value.
 */
async function lowerSession(pid: number): Promise<void> {
  const nice = constants.priority.PRIORITY_BELOW_NORMAL;
  setPriority(pid, nice);
  if (process.platform !== "linux") return;
  // The kernel takes one such request in a tenth of a second from those who are not root (EAGAIN).
  for (let tries = 0; tries < 10; tries += 1) {
    const done = await writeFile(`/proc/${pid}/autogroup`, String(nice)).then(
      () => true,
      (error: NodeJS.ErrnoException) => error.code !== "EAGAIN",
    );
    if (done) return;
    await sleep(100 + 50 * tries);
  }
}

async function nameOf(pid: number): Promise<string> {
  return await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "");
}
