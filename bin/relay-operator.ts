import { type Address, formatEther } from "viem";
import { loadConfig } from "../src/config.ts";
import { createDatabase, createPool } from "../src/db/pool.ts";
import { explainIntent } from "../src/relay/explain-intent.ts";
import { listLanes } from "../src/relay/lanes.ts";
import { reconcileLane } from "../src/relay/reconcile-lane.ts";
import { isDeployable } from "../src/relay/relay.ts";
import { createServices } from "../src/services.ts";

/** Prints the whole story of one deployment or update. */
export async function showDeployment(wanted: string): Promise<number> {
  const lines = await withDatabase((db) => explainIntent(db, wanted));
  if (!lines) throw new Error(`nothing is known as ${wanted}: give an id, a transaction hash or an address`);
  process.stdout.write(`${lines.join("\n")}\n`);
  return 0;
}

/** Prints every paying wallet's lane; or opens, halts or reconciles one. */
export async function lanesCommand(action: string, address: string, acceptForeign: boolean): Promise<number> {
  const config = loadConfig();
  const { chains } = config;
  if (action === "reconcile") {
    const services = createServices(config, "operator");
    try {
      for (const chain of chains.filter(isDeployable))
        if ((await listLanes(services.db, chain.id)).some((lane) => lane.address === address.toLowerCase()))
          for (const { nonce, hash, kind } of await reconcileLane(services, chain, address.toLowerCase() as Address, {
            acceptForeign,
          }))
            process.stdout.write(`${chain.name}  nonce ${nonce}  ${kind}  ${hash}\n`);
    } finally {
      await services.content.close();
      await services.pool.end();
    }
  }
  return await withDatabase(async (db) => {
    if (action === "open" || action === "halt") {
      const state = action === "open" ? "open" : "halted";
      const changed = await db
        .updateTable("service.lane")
        .set({ state, needed_wei: null })
        .where("addr", "=", Buffer.from(address.replace(/^0x/, ""), "hex"))
        .returning("chain_id")
        .execute();
      if (changed.length === 0) throw new Error(`no lane of wallet ${address}`);
    }
    for (const chain of chains)
      for (const lane of await listLanes(db, chain.id))
        process.stdout.write(
          `${chain.name}  ${lane.address}  ${lane.state}  next nonce ${lane.nextNonce}, ${lane.open} not mined, ` +
            `up to ${formatEther(lane.reservedWei)} committed\n`,
        );
    return 0;
  });
}

async function withDatabase<T>(work: (db: ReturnType<typeof createDatabase>) => Promise<T>): Promise<T> {
  const pool = createPool(loadConfig().databaseUrl, "operator", 1);
  try {
    return await work(createDatabase(pool));
  } finally {
    await pool.end();
  }
}
