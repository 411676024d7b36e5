import { randomUUID } from "node:crypto";
import { createAccount } from "../src/auth/keys.ts";
import { loadConfig } from "../src/config.ts";
import { migrate } from "../src/db/migrate.ts";
import { createDatabase, createPool } from "../src/db/pool.ts";
import type { Tier } from "../src/db/tables/accounts.ts";

const tiers: readonly Tier[] = ["free", "growth", "scale", "enterprise"];

/** Makes an account with one key and prints the key, the only time it can be seen. */
export async function createKey(options: { tier: string; name: string }): Promise<number> {
  const tier = tiers.find((candidate) => candidate === options.tier);
  if (!tier) throw new Error(`--tier: one of ${tiers.join(", ")} is wanted`);
  const config = loadConfig();
  await migrate(config.databaseUrl);
  const pool = createPool(config.databaseUrl, "keys", 1);
  try {
    const key = randomUUID();
    const accountId = await createAccount(createDatabase(pool), config.keyPepper, { name: options.name, tier, key });
    process.stdout.write(`${JSON.stringify({ key, accountId, tier, name: options.name })}\n`);
  } finally {
    await pool.end();
  }
  return 0;
}
