import { sql } from "kysely";
import type { Address } from "viem";
import type { KeyOwner } from "../auth/keys.ts";
import type { Chain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { setTenant, withTenantScope } from "../db/tenancy/tenant.ts";
import { readForEach } from "../nfts/read-for-each.ts";
import type { Services } from "../services.ts";
import { KeptReadings } from "./kept-readings.ts";
import { readTogether } from "./read-together.ts";

/** The last 24 hours, including the current one. */
const hours = 24;
const hourSeconds = 3_600;
/** For a contract with more mints in that time only the newest are counted, to bound the index scan. */
const mostMints = 20_000;

/** A contract's mints per hour over the last day, the oldest hour first. */
export interface MintsByHour {
  /** Unix seconds of the first hour. */
  from: number;
  mints: readonly number[];
}

const rules = {
  ...{ keptMs: 5_000, mostKeptMs: 60_000, oldestMs: 600_000 },
  isSame: (one: MintsByHour, other: MintsByHour) => String(one.mints) === String(other.mints),
};
const keptBy = new WeakMap<Services, KeptReadings<MintsByHour>>();

/**
 * Counts a contract's mints in the index. A count may be five seconds old, and up to a minute while it does not change.
 *
 * @param payer the account that asks, whose plan's share of the database the query counts against.
 * @throws ServiceError `read_timeout`, `rate_limit_exceeded`, `service_unavailable`.
 */
export async function getMintsByHour(
  services: Services,
  payer: Pick<KeyOwner, "accountId" | "tier">,
  { chain, address: contract }: { chain: Chain; address: Address },
): Promise<MintsByHour> {
  const kept = keptBy.get(services) ?? new KeptReadings(rules);
  keptBy.set(services, kept);
  return await kept.get(`${chain.id}:${contract}`, {
    admit: async () => undefined,
    read: () =>
      withTenantScope(async () => {
        setTenant(payer.accountId, payer.tier);
        return await countMints(services, contract, chain);
      }),
  });
}

const countMints = readTogether(async (services: Services, contracts: readonly Address[], { id }: Chain) => {
  const now = Math.floor(Date.now() / 1_000 / hourSeconds);
  const first = now - hours + 1;
  // The time bound is translated into a block number, so that one index gives the order and ends the scan.
  const counted = await readForEach(
    services,
    contracts.map((contract) => ({ contract: toBytes(contract) })),
    ({ contract }) => sql<{ hour: number; mints: number }>`
      SELECT (m.block_timestamp / ${hourSeconds})::int AS hour, count(*)::int AS mints
      FROM (SELECT x.block_timestamp FROM nft.transfers x
        WHERE x.chain_id = ${id} AND x.contract = ${contract} AND x.from_address = ${Buffer.alloc(20)}
          AND x.block_number >= (SELECT b.block_number FROM nft.transfers b
            WHERE b.chain_id = ${id} AND b.block_timestamp >= ${first * hourSeconds}::bigint
            ORDER BY b.block_timestamp, b.block_number LIMIT 1)
        ORDER BY x.block_number DESC, x.log_index DESC, x.batch_index DESC LIMIT ${sql.lit(mostMints)}) m
      GROUP BY 1`,
    "read",
  );
  return counted.map((rows) => {
    const mints = Array.from({ length: hours }, () => 0);
    for (const { hour, mints: count } of rows) {
      // A chain's clock may be ahead of this machine's.
      const at = Math.min(hour - first, hours - 1);
      mints[at] = (mints[at] ?? 0) + count;
    }
    return { from: first * hourSeconds, mints };
  });
});
