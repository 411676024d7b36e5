import { type ReadLimits, usualReadLimits } from "../../config/read-limits.ts";
import { openPipelinedConnections, type PipelinedConnections } from "../pipeline/pipelined-connections.ts";
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
/** Reads of one kind that wait for a connection. */
const maxWaiting = 256;
/** A cancel request ends a read in time; the server does when no such request arrives. */
const cancelMs = 1_000;

/**
 * Opens them, each kind separate from the others and from the writing pool, so that none waits for a dearer one.
 *
 * @param heavyReads that run at once. Each takes one core of the database.
 * @param limits how long reads may take.
 * @param lowerPriority the server's processes run on this machine: those of heavy reads have the processor after others.
 */
export function openReads(
  databaseUrl: string,
  name: string,
  {
    tenants,
    heavyReads,
    limits = usualReadLimits,
    lowerPriority = false,
  }: { tenants: boolean; heavyReads: number; limits?: ReadLimits; lowerPriority?: boolean },
): Reads {
  const pool = (kind: string, most: number, statementTimeout: number) =>
    createPool(databaseUrl, `${name}-${kind}`, most, { tenants, statementTimeout, reads: true });
  const heavy = pool("heavy", heavyReads, limits.report + cancelMs);
  if (lowerPriority) heavy.on("connect", (client) => void lowerBackendPriority(client));
  return {
    pipelined: openPipelinedConnections(
      connectionOptions(databaseUrl, name, { tenants, statementTimeout: limits.read }),
      limits.read,
    ),
    reads: new ReadConnections(pool("reads", maxReads, limits.read + cancelMs), {
      most: maxReads,
      waiting: maxWaiting,
      limitMs: limits.read,
    }),
    heavy: new ReadConnections(heavy, { most: heavyReads, waiting: maxWaiting, limitMs: limits.read }),
  };
}

export async function closeReads({ pipelined, reads, heavy }: Reads): Promise<void> {
  pipelined.close();
  await Promise.all([reads.end(), heavy.end()]);
}
