import { sql } from "kysely";
import type { Address } from "viem";
import type { Chain } from "../../chains.ts";
import { toBytes } from "../../db/bytes.ts";
import { relayerRole } from "../../signing/rules.ts";
import type { RelayContext } from "../chain/context.ts";
import { readRoles } from "../chain/roles.ts";

/** What one worker remembers of a chain between two looks. */
export interface RoleMemory {
  roles: Map<Address, boolean>;
  /** When they were last written down, by this process's clock. */
  recordedAt: number;
}

/** Readers take a row that is older than a minute for unknown. */
const recordAgainMs = 10_000;

export function createRoleMemory(): RoleMemory {
  return { roles: new Map(), recordedAt: Number.NEGATIVE_INFINITY };
}

/**
 * Reads which paying wallets of a chain have the factory's relayer role, and records it for whoever shows it. A wallet
 * without its role is named in the log at once: at the start, and when it loses it.
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
