import { setTimeout as sleep } from "node:timers/promises";
import { type ProcessMemory, proportionalMemory } from "../../bench/start/proportional-memory.ts";
import { wait } from "../setup/wait.ts";

/** 10^6 bytes each. A run shows 831: minting, webhooks and sessions are loaded since the bound was 800. */
export const boundMb = 900;
/** Heaps are compacted ten seconds after the start, idle connections end after thirty; then young generations fill. */
const restMs = 90_000;
/** At rest it stays below the bound: one look could meet the moment after a collection. */
const looks = 2;

/** As if nothing else ran: pages of a file count once for each program, whoever holds them too. */
function totalOf(memory: readonly ProcessMemory[]): number {
  const files = new Map<string, number>();
  for (const { program, fileMegabytes } of memory) files.set(program, Math.max(files.get(program) ?? 0, fileMegabytes));
  const own = memory.reduce((sum, { ownMegabytes }) => sum + ownMegabytes, 0);
  return [...files.values()].reduce((sum, megabytes) => sum + megabytes, own);
}

/**
 * Lets the stack of a folder rest from its start, until its processes hold less than the bound and go on doing so. The bootstrap
 * above the launcher, which npm starts, does not count.
 *
 * @returns what they hold then, in 10^6 bytes.
 */
export async function restUntilSmall(dir: string): Promise<number> {
  await sleep(restMs);
  let below = 0;
  const look = async () => {
    const memory = proportionalMemory(dir).filter(({ command }) => !command.includes("bootstrap.mjs"));
    const total = totalOf(memory);
    const of = (pattern: RegExp) => memory.filter(({ command }) => pattern.test(command)).length;
    const counts = {
      ponder: of(/ponder-host\.ts/),
      compilers: of(/esbuild/),
      sessions: of(/^postgres|bin\/postgres /),
    };
    // Six of the server's own, and the connections of four processes, of which the worker has eight.
    const isSmall = total < boundMb && counts.ponder === 1 && counts.compilers === 0 && counts.sessions < 24;
    below = isSmall ? below + 1 : 0;
    if (below < looks) await sleep(5_000);
    return { below, total, counts, held: memory.map((one) => `${one.ownMegabytes.toFixed(0)} ${one.command}`) };
  };
  return (await wait("little memory", look, { until: () => below === looks, withinMs: 60_000 })).total;
}
