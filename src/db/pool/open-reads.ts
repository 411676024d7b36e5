import { readFile, writeFile } from "node:fs/promises";
import { constants, setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { type ReadLimits, usualReadLimits } from "../../config/read-limits.ts";
import { openPipelinedConnections, type PipelinedConnections } from "../pipeline/pipelined-connections.ts";
import type { DatabaseTime } from "./database-time.ts";
import { connectionOptions, createPool } from "./pool.ts";
import { ReadConnections } from "./read-connections.ts";

/** The connections to one server for reads of the index, by the cost of the reads. */
export interface Reads {
  pipelined: PipelinedConnections;
  reads: ReadConnections;
  heavy: ReadConnections;
}

/** Connections for reads that are neither on the fast path nor heavy. */
const maxReads = 4;
/** At least two heavy reads: one for free accounts, and one that they never get. */
const leastHeavy = 2;
/** Reads of one kind that may wait for a connection: so many of free accounts, and as many of all others. */
const maxWaiting = 256;
/** A cancel request usually ends a read in time. If none arrives, the server ends it this much later. */
const cancelMs = 1_000;

/**
 * Opens them, each kind separate from the others and from the writing pool, so that none waits for a costlier one.
 *
 * @param heavyReads that run at once, at least two. Each takes one core of the database. Half are for free accounts.
 * @param limits how long reads may take.
 * @param time each account's budget of database time for heavy reads; null: nobody is charged.
 * @param lowerPriority the server runs on this machine: its processes for heavy reads get a lower CPU priority.
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
 * Lowers the CPU priority of the server process behind a connection, so that a statement that takes a whole core for
 * seconds delays no other answer. Works only for a server on this machine under this login; never fails. The process
 * keeps a share of each core, because fast-path reads may wait for its locks. Not for statements that have to keep up
 * with a chain: they would fall behind for as long as other programs are busy.
 */
async function lowerBackendPriority(client: pg.ClientBase): Promise<void> {
  const { processID: pid } = client as pg.ClientBase & { processID?: number | null };
  if (!pid) return;
  // A server in another container has its own process ids: the same id may be another program's here.
  if (process.platform === "linux" && !(await nameOf(pid)).startsWith("postgres")) return;
  try {
    await lowerSession(pid);
  } catch {
    // The process has ended already.
  }
}

/**
 * Linux first divides the CPU between sessions (autogroups), and a nice value only counts within a session. So the
 * session of the server process gets the same value.
 */
async function lowerSession(pid: number): Promise<void> {
  const nice = constants.priority.PRIORITY_BELOW_NORMAL;
  setPriority(pid, nice);
  if (process.platform !== "linux") return;
  // The kernel takes one such request per tenth of a second from processes that are not root (EAGAIN).
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
