import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { Address } from "viem";
import type { Chain } from "../../chains.ts";
import { toBytes } from "../../db/bytes.ts";
import type { Rounds } from "../../rounds.ts";
import { loggable, type Node } from "../../rpc/nodes.ts";
import { calls, parseQuantity } from "../../rpc/reads.ts";
import { relayerRole } from "../../signing/rules.ts";
import type { SignerTrouble } from "../../signing/trouble.ts";
import { isDeployable, type RelayContext } from "../chain/context.ts";
import { readRoles } from "../chain/roles.ts";
import type { RelayFigures } from "../store/figures.ts";
import { listWallets } from "../store/wallets.ts";
import { reconcileNonces } from "../submit/reconcile-nonces.ts";
import type { RelayMemory } from "./loop-steps.ts";
import { refreshWallets } from "./watch-wallets.ts";

/**
 * Detects transactions of a wallet that this database did not send, even while no request is under way: they are read
 * at once, and recorded (`reconcileNonces`, `refreshWallets`).
 *
 * @throws NodeFault while no endpoint answers.
 */
export async function watchCounts(services: RelayContext, chain: Chain, memory: RelayMemory): Promise<void> {
  const wallets = services.relay.signers(chain).map(({ address }) => address.toLowerCase() as Address);
  const counts = await services.relay
    .nodes(chain)
    .first(async (node) =>
      (await node.ask(wallets.map((wallet) => calls.count(wallet, "latest")))).map((answer) =>
        parseQuantity(answer, "a count"),
      ),
    );
  // Read after the counts, so that a nonce assigned meanwhile does not look like a foreign one.
  for (const wallet of await listWallets(services.db, chain.id)) {
    const count = counts[wallets.indexOf(wallet.address)];
    if (count === undefined || count <= wallet.nextNonce || wallet.state !== "open") continue;
    await reconcileNonces(services, chain, wallet.address);
    await refreshWallets(services, chain, memory);
  }
}

/** Two calls per endpoint, 11,520 a day, and half as many again for the first one: little compared with the rest. */
const periodMs = { local: 2_000, elsewhere: 15_000 };

/**
 * Asks every endpoint for its head until the signal, including those that are unused while a better one answers:
 * otherwise a spare that has been dead for weeks would be noticed only when it is needed. The same goes for the
 * wallets' balances, which the relay reads only while it has work. For metrics only; decides nothing.
 */
export async function watchEndpoints(services: RelayContext, rounds: Rounds): Promise<void> {
  const { chains, log, relay } = services;
  await Promise.all(
    chains
      .filter(({ rpcUrls }) => rpcUrls.length > 0)
      .map(async (chain) => {
        const round = async () => {
          await Promise.all([
            pollEndpoints(relay.nodes(chain).every, chain, relay.figures),
            isDeployable(chain) ? pollBalances(services, chain) : null,
          ]);
          return "soon" as const;
        };
        const pace = { periodMs: chain.local ? periodMs.local : periodMs.elsewhere };
        await rounds.repeat(round, pace, { log, failing: "the endpoints could not be looked at", fields: loggable });
      }),
  );
}

/** Records each endpoint's current answer. Never fails. */
async function pollEndpoints(nodes: readonly Node[], chain: Chain, figures: RelayFigures): Promise<void> {
  await Promise.all(
    nodes.map(async (node, index) => {
      const asked = performance.now();
      const head = await node
        .ask([{ method: "eth_blockNumber", params: [] }])
        .then(([answer]) => parseQuantity(answer, "a block number"))
        .catch(() => null);
      const host = new URL(chain.rpcUrls[index] ?? "").host;
      const seconds = (performance.now() - asked) / 1_000;
      figures.recordEndpoint({ chain: chain.name, endpoint: String(index), host, head, seconds });
    }),
  );
}

/**
 * Records the relayer wallets' balances, from the first endpoint that answers; the last ones stay while none does.
 *
 * @returns wei by wallet; empty while no endpoint answers, or the wallets are not known.
 */
export async function pollBalances({ relay }: RelayContext, chain: Chain): Promise<ReadonlyMap<Address, bigint>> {
  const read = async () => {
    const wallets = relay.signers(chain).map(({ address }) => address);
    const answers = await relay.nodes(chain).first((node) => node.ask(wallets.map((wallet) => calls.balance(wallet))));
    return new Map(wallets.map((wallet, at) => [wallet, parseQuantity(answers[at], "a balance")] as const));
  };
  const balances = await read().catch(() => new Map<Address, bigint>());
  for (const [wallet, wei] of balances) relay.figures.recordBalance(chain, wallet, wei);
  return balances;
}

/** What one worker remembers of a chain between two readings. */
interface RoleMemory {
  roles: Map<Address, boolean>;
  /** When they were last stored, by this process's clock. */
  recordedAt: number;
}

/** Readers treat a row older than a minute as unknown. */
const recordAgainMs = 10_000;

export function createRoleMemory(): RoleMemory {
  return { roles: new Map(), recordedAt: Number.NEGATIVE_INFINITY };
}

/**
 * Reads which relayer wallets of a chain have the factory's relayer role, and records it for status and console. A
 * wallet without the role is logged at once: at the start, and when it loses the role.
 *
 * @throws NodeFault while no endpoint answers.
 */
export async function watchRoles(services: RelayContext, chain: Chain, memory: RoleMemory): Promise<void> {
  const wallets = services.relay.signers(chain).map(({ address }) => address.toLowerCase() as Address);
  const factory = chain.factory?.address;
  if (!factory || wallets.length === 0) return;
  const held = await readRoles(services.relay.nodes(chain), factory, relayerRole, wallets);
  const roles = wallets.map((wallet, index) => ({ wallet, hasRole: held[index] ?? false }));
  const changed = roles.filter(({ wallet, hasRole }) => memory.roles.get(wallet) !== hasRole);
  if (changed.length > 0) services.relay.roles.forget(chain);
  for (const { wallet, hasRole } of changed) {
    logRole(services, chain, wallet, hasRole, memory.roles.get(wallet));
    memory.roles.set(wallet, hasRole);
  }
  if (changed.length === 0 && performance.now() - memory.recordedAt < recordAgainMs) return;
  await services.db
    .insertInto("service.wallet_role")
    .values(roles.map(({ wallet, hasRole }) => ({ chain_id: chain.id, addr: toBytes(wallet), has_role: hasRole })))
    .onConflict((conflict) =>
      conflict.columns(["chain_id", "addr"]).doUpdateSet({
        has_role: sql<boolean>`excluded.has_role`,
        checked_at: sql<Date>`clock_timestamp()`,
      }),
    )
    .execute();
  memory.recordedAt = performance.now();
}

function logRole(
  services: RelayContext,
  chain: Chain,
  wallet: Address,
  now: boolean,
  before: boolean | undefined,
): void {
  const context = { chain: chain.name, wallet, factory: chain.factory?.address };
  const action = "run `mintyard wallets grant`: it grants the role, or prints what the factory's administrator sends";
  if (!now) services.log.error({ ...context, action }, "a paying wallet has no relayer role, so it deploys nothing");
  else if (before === false) services.log.info(context, "a paying wallet has the relayer role again, and deploys");
}

/** What one worker has recorded about its signer. */
interface SignerMemory {
  readonly worker: string;
  trouble: SignerTrouble | null;
  /** By this process's clock. */
  recordedAt: number;
}

/** Readers ignore a row older than a minute. */
const recordSignerAgainMs = 20_000;

export function createSignerMemory(): SignerMemory {
  return { worker: randomUUID(), trouble: null, recordedAt: Number.NEGATIVE_INFINITY };
}

/** Records whether this worker's signer signs, for processes that cannot reach it. */
export async function watchSigner({ db, relay }: RelayContext, memory: SignerMemory): Promise<void> {
  const { kind } = relay.signing;
  const trouble = await relay.signing.check();
  if (trouble === memory.trouble && performance.now() - memory.recordedAt < recordSignerAgainMs) return;
  await sql`
    WITH gone AS (DELETE FROM service.signer_state WHERE seen_at < clock_timestamp() - interval '1 hour')
    INSERT INTO service.signer_state (worker, kind, trouble) VALUES (${memory.worker}, ${kind}, ${trouble})
    ON CONFLICT (worker) DO UPDATE SET trouble = excluded.trouble, seen_at = clock_timestamp()`.execute(db);
  memory.trouble = trouble;
  memory.recordedAt = performance.now();
}
