import { type ReadLimits, usualReadLimits } from "../../config/read-limits.ts";
import { openPipelinedConnections, type PipelinedConnections } from "../pipeline/pipelined-connections.ts";
import type { DatabaseTime } from "./database-time.ts";
import { lowerBackendPriority } from "./lower-backend-priority.ts";
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
