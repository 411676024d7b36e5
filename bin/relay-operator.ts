import { type Address, formatEther } from "viem";
import { loadConfig } from "../src/config.ts";
import { createDatabase, createPool } from "../src/db/pool.ts";
import { explainIntent } from "../src/relay/explain-intent.ts";
import { grantLanes } from "../src/relay/grant-lanes.ts";
import { listLanes } from "../src/relay/lanes.ts";
import { openLane } from "../src/relay/open-lane.ts";
import { reconcileLane } from "../src/relay/reconcile-lane.ts";
import { isDeployable } from "../src/relay/relay.ts";
import { createServices, type Services } from "../src/services.ts";

/** Prints the whole story of one deployment or update. */
export async function showDeployment(wanted: string): Promise<number> {
  const lines = await withDatabase((db) => explainIntent(db, wanted));
  if (!lines) throw new Error(`nothing is known as ${wanted}: give an id, a transaction hash or an address`);
  process.stdout.write(`${lines.join("\n")}\n`);
  return 0;
}

/** Prints every paying wallet's lane; or opens, halts or reconciles one, or makes lanes of all configured wallets. */
export async function lanesCommand(action: string, address: string, acceptForeign: boolean): Promise<number> {
  return await withServices(async (services) => {
    if (action === "halt") await haltLane(services, address);
    if (action === "open") await openLanes(services, address);
    if (action === "reconcile") await reconcile(services, address, acceptForeign);
    if (action === "grant") await grantAll(services);
    await printLanes(services);
    return 0;
  });
}

async function printLanes(services: Services): Promise<void> {
  let printed = 0;
  for (const chain of services.chains) {
    const lanes = await listLanes(services.db, chain.id);
    for (const lane of lanes)
      say(
        `${chain.name}  ${lane.address}  ${lane.state}  next nonce ${lane.nextNonce}, ${lane.open} not mined, ` +
          `up to ${formatEther(lane.reservedWei)} committed`,
      );
    const wallets = isDeployable(chain) ? services.relay.signers(chain).map(({ address }) => address) : [];
    const unused = wallets.filter((wallet) => !lanes.some(({ address }) => address === wallet));
    for (const wallet of unused) say(`${chain.name}  ${wallet}  has sent nothing yet`);
    printed += lanes.length + unused.length;
  }
  if (printed === 0)
    say("no chain here has a paying wallet: RELAYER_KEY_<CHAIN> and FACTORY_<CHAIN> name one and its factory");
}

async function haltLane(services: Services, address: string): Promise<void> {
  const halted = await services.db
    .updateTable("service.lane")
    .set({ state: "halted", needed_wei: null })
    .where("addr", "=", Buffer.from(address.replace(/^0x/, ""), "hex"))
    .returning("chain_id")
    .execute();
  if (halted.length === 0) throw new Error(`no lane of wallet ${address}`);
}

async function openLanes(services: Services, address: string): Promise<void> {
  let opened = 0;
  for (const chain of services.chains) {
    const known = (await listLanes(services.db, chain.id)).some((lane) => lane.address === address.toLowerCase());
    if (!known) continue;
    const { skipped } = await openLane(services, chain, address as Address);
    if (skipped > 0n) say(`${chain.name}  ${skipped} nonces that others used are passed over`);
    opened += 1;
  }
  if (opened === 0) throw new Error(`no lane of wallet ${address}`);
}

async function reconcile(services: Services, address: string, acceptForeign: boolean): Promise<void> {
  const wallet = address.toLowerCase() as Address;
  for (const chain of services.chains.filter(isDeployable)) {
    if (!(await listLanes(services.db, chain.id)).some((lane) => lane.address === wallet)) continue;
    for (const { nonce, hash, kind } of await reconcileLane(services, chain, wallet, { acceptForeign }))
      say(`${chain.name}  nonce ${nonce}  ${kind}  ${hash}`);
  }
}

async function grantAll(services: Services): Promise<void> {
  for (const chain of services.chains.filter(isDeployable))
    for (const { wallet, transactionHash } of await grantLanes(services, chain))
      say(
        `${chain.name}  ${wallet}  ${transactionHash ? `may deploy since ${transactionHash}` : "could deploy already"}`,
      );
  say("running processes use new lanes after a restart");
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function withServices(work: (services: Services) => Promise<number>): Promise<number> {
  const services = createServices(loadConfig(), "operator");
  try {
    return await work(services);
  } finally {
    await services.content.close();
    await services.pool.end();
  }
}

async function withDatabase<T>(work: (db: ReturnType<typeof createDatabase>) => Promise<T>): Promise<T> {
  const pool = createPool(loadConfig().databaseUrl, "operator", 1);
  try {
    return await work(createDatabase(pool));
  } finally {
    await pool.end();
  }
}
