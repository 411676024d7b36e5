import { sql } from "kysely";
import type { Chain } from "../../chains.ts";
import type { Next, Pace, Rounds } from "../../rounds.ts";
import { loggable } from "../../rpc/nodes.ts";
import { isDeployable, type RelayContext } from "../chain/context.ts";
import { undecidedStates } from "../lifecycle.ts";
import { confirmRound, resubmitRound } from "./follow-loop.ts";
import { createRelayMemory, SigningLease } from "./loop-steps.ts";
import { signForClients, submitRound } from "./submit-loop.ts";
import { createRoleMemory, createSignerMemory, watchCounts, watchRoles, watchSigner } from "./watch.ts";

const periods = { local: 200, elsewhere: 2_000 };
const retryMs = 15_000;
/** How often idle wallets are checked for foreign transactions; while there is work, other rounds read them. */
const countPeriods = { local: 1_000, elsewhere: 15_000 };

/**
 * Drives the requests of every chain on which this installation can pay, until the signal. An outage of a node or of
 * the database only delays rounds; chains do not wait for each other, and requests with a nonce do not wait for those
 * without.
 */
export async function runRelay(services: RelayContext, rounds: Rounds): Promise<void> {
  const chains = services.chains.filter(isDeployable);
  for (const { name, factory } of services.chains)
    if (factory && !chains.some((chain) => chain.name === name))
      services.log.warn(
        { chain: name, action: noWallet(name) },
        "this worker signs nothing on a chain that has a factory",
      );
  if (chains.length === 0) return;
  await Promise.all([runSigner(services, rounds), ...chains.map((chain) => runChain(services, chain, rounds))]);
}

function noWallet(chain: string): string {
  const suffix = chain.toUpperCase();
  return `set RELAYER_ADDRESS_${suffix} and SIGNER_URL, or RELAYER_KEY_${suffix}, for this worker if clients are to deploy there`;
}

async function runSigner(services: RelayContext, rounds: Rounds): Promise<void> {
  const memory = createSignerMemory();
  const round = async (): Promise<Next> => {
    await watchSigner(services, memory);
    return memory.trouble === null ? "rest" : "soon";
  };
  const log = services.log.child({ loop: "signer" });
  await rounds.repeat(round, { periodMs: periods.elsewhere, rests: true }, { log, failing: "relay loop failed" });
}

async function runChain(services: RelayContext, chain: Chain, rounds: Rounds): Promise<void> {
  const where = chain.local ? "local" : "elsewhere";
  const pace = { periodMs: periods[where], rests: true, retryMs };
  const { signal } = rounds;
  const memory = createRelayMemory(pace.periodMs, new SigningLease(services.db, chain));
  const roles = createRoleMemory();
  // One query serves all loops that end a round at about the same time.
  let look: { until: number; next: Promise<Next> } = { until: 0, next: Promise.resolve("soon") };
  const next = async () => {
    if (performance.now() >= look.until)
      look = { until: performance.now() + pace.periodMs / 2, next: nextOf(services, chain) };
    return await look.next;
  };
  const loops: [string, () => Promise<void>, Pace][] = [
    ["resubmit", () => resubmitRound(services, chain, memory, signal), pace],
    ["confirm", () => confirmRound(services, chain, memory, signal), pace],
    ["submit", () => submitRound(services, chain, memory, signal), pace],
    ["roles", () => watchRoles(services, chain, roles), pace],
    ["counts", () => watchCounts(services, chain, memory), { ...pace, periodMs: countPeriods[where] }],
  ];
  await Promise.all([
    signForClients(services, chain, memory, rounds),
    ...loops.map(([loop, round, ofLoop]) => {
      const log = services.log.child({ chain: chain.name, loop });
      const then = async () => {
        await round();
        return await next();
      };
      return rounds.repeat(then, ofLoop, { log, failing: "relay loop failed", fields: loggable });
    }),
  ]);
  await memory.lease?.leave();
}

/** Whether a client waits for an outcome, or a nonce for its transaction. */
async function nextOf({ db }: RelayContext, { id }: Chain): Promise<Next> {
  const states = sql.join(undecidedStates.map((state) => sql.lit(state)));
  const { rows } = await sql<{ waits: boolean }>`
    SELECT EXISTS (SELECT FROM service.intent WHERE chain_id = ${id} AND state IN (${states}))
      OR EXISTS (SELECT FROM service.nonce_reservation WHERE chain_id = ${id} AND state = 'open') AS waits`.execute(db);
  return rows[0]?.waits ? "soon" : "rest";
}
