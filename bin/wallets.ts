import { type Address, formatEther } from "viem";
import { loadConfig } from "../src/config/config.ts";
import { createServices } from "../src/processes/create-services.ts";
import type { Services } from "../src/services.ts";
import { relayerRole } from "../src/signing/rules.ts";
import { isDeployable } from "../src/transactions/chain/context.ts";
import { readRoles } from "../src/transactions/chain/roles.ts";
import { type AdminCall, GrantUnfinished, grantWallets } from "../src/transactions/operator/grant-wallets.ts";
import { openWallet, reconcileWallet } from "../src/transactions/operator/mend-wallet.ts";
import { listWallets, type RelayerWallet } from "../src/transactions/store/wallets.ts";
import { listSharedWallets } from "../src/transactions/submit/reconcile-nonces.ts";

/** Exit code of `wallets grant` when its time ended before every wallet had its role. */
const unfinished = 3;

/** Prints every paying wallet, after opening, halting or reconciling one if asked to. */
export async function walletsCommand(
  action: "list" | "open" | "halt" | "reconcile",
  address = "",
  acceptExternal = false,
): Promise<number> {
  return await withServices(async (services) => {
    if (action === "halt") await haltWallet(services, address);
    if (action === "open") await openWallets(services, address);
    if (action === "reconcile") await reconcile(services, address, acceptExternal);
    await printWallets(services);
    return 0;
  });
}

/**
 * Gives every configured wallet the relayer role on its chain's factory, and prints each step.
 *
 * @returns 0 when all have it; 3 when the time ended first.
 */
export async function grantCommand(timeoutSeconds: number): Promise<number> {
  return await withServices(async (services) => {
    const deadline = performance.now() + timeoutSeconds * 1_000;
    let code = 0;
    for (const chain of services.chains.filter(isDeployable)) {
      const report = (line: string) => say(`${chain.name}  ${line}`);
      const askAdmin = (calls: readonly AdminCall[], admins: readonly Address[]) =>
        printAdminCalls(chain.name, calls, admins);
      try {
        for (const { wallet, transactionHash } of await grantWallets(services, chain, { deadline, report, askAdmin }))
          report(transactionHash ? `${wallet} may deploy since ${transactionHash}` : `${wallet} may deploy`);
      } catch (error) {
        if (!(error instanceof GrantUnfinished)) throw error;
        process.stderr.write(`mintyard wallets grant: ${error.message}\n`);
        code = unfinished;
      }
    }
    await printWallets(services);
    return code;
  });
}

function printAdminCalls(chain: string, calls: readonly AdminCall[], admins: readonly Address[]): void {
  const rpcUrl = `RPC_URL_${chain.toUpperCase()}`;
  say(`${chain}  no wallet of this installation is the factory's administrator; its administrator has to send this:`);
  if (admins.length > 0) say(`${chain}  from one of ${admins.join(", ")}`);
  for (const { wallet, chainId, to, data, value } of calls) {
    say(`  chain id  ${chainId}`);
    say(`  to        ${to}`);
    say(`  value     ${value}`);
    say(`  data      ${data}`);
    say(
      `  cast send ${to} "grantRole(bytes32,address)" ${relayerRole} ${wallet} --value ${value} --chain ${chainId} ` +
        `--rpc-url "\${${rpcUrl}%%,*}" --interactive`,
    );
  }
}

async function printWallets(services: Services): Promise<void> {
  let printed = 0;
  const shared = await listSharedWallets(services.db);
  for (const chain of services.chains) {
    const stored = await listWallets(services.db, chain.id);
    const wallets = isDeployable(chain)
      ? services.relay.signers(chain).map(({ address }) => address.toLowerCase() as Address)
      : [];
    const factory = chain.factory?.address;
    const roles = factory
      ? await readRoles(services.relay.nodes(chain), factory, relayerRole, wallets).catch(() => null)
      : null;
    const roleOf = (wallet: Address) => {
      const index = wallets.indexOf(wallet);
      if (index < 0) return "not configured here";
      if (!roles) return "role not known, the node does not answer";
      return roles[index] ? "has its role" : "WITHOUT ITS ROLE, deploys nothing: `mintyard wallets grant`";
    };
    const used = (wallet: Address) => {
      const other = shared.find((item) => item.chainId === chain.id && item.wallet === wallet);
      if (!other) return "";
      return `, ANOTHER INSTALLATION sent ${other.transactions} transactions, the last seen ${other.last.toISOString()}`;
    };
    for (const wallet of stored)
      say(`${chain.name}  ${wallet.address}  ${describe(wallet)}, ${roleOf(wallet.address)}${used(wallet.address)}`);
    const unused = wallets.filter((wallet) => !stored.some(({ address }) => address === wallet));
    for (const wallet of unused) say(`${chain.name}  ${wallet}  has sent nothing yet, ${roleOf(wallet)}`);
    printed += stored.length + unused.length;
  }
  if (printed === 0)
    say("no chain here has a paying wallet: RELAYER_KEY_<CHAIN> and FACTORY_<CHAIN> name one and its factory");
}

function describe({ state, nextNonce, open, reservedWei }: RelayerWallet): string {
  return `${state}  next nonce ${nextNonce}, ${open} not mined, up to ${formatEther(reservedWei)} committed`;
}

async function haltWallet(services: Services, address: string): Promise<void> {
  const halted = await services.db
    .updateTable("service.relayer_wallet")
    .set({ state: "halted", needed_wei: null })
    .where("addr", "=", Buffer.from(address.replace(/^0x/, ""), "hex"))
    .returning("chain_id")
    .execute();
  if (halted.length === 0) throw new Error(`nothing is known of wallet ${address}`);
}

async function openWallets(services: Services, address: string): Promise<void> {
  let opened = 0;
  for (const chain of services.chains) {
    const known = (await listWallets(services.db, chain.id)).some((wallet) => wallet.address === address.toLowerCase());
    if (!known) continue;
    const { skipped } = await openWallet(services, chain, address as Address);
    if (skipped > 0n) say(`${chain.name}  ${skipped} nonces that others used are passed over`);
    opened += 1;
  }
  if (opened === 0) throw new Error(`nothing is known of wallet ${address}`);
}

async function reconcile(services: Services, address: string, acceptExternal: boolean): Promise<void> {
  const wallet = address.toLowerCase() as Address;
  for (const chain of services.chains.filter(isDeployable)) {
    if (!(await listWallets(services.db, chain.id)).some((row) => row.address === wallet)) continue;
    for (const { nonce, hash, kind } of await reconcileWallet(services, chain, wallet, { acceptExternal }))
      say(`${chain.name}  nonce ${nonce}  ${kind}  ${hash}`);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function withServices(work: (services: Services) => Promise<number>): Promise<number> {
  const services = createServices(loadConfig(), "operator", { tenants: false, operator: true });
  try {
    return await work(services);
  } finally {
    services.relay.signing.close();
    await services.content.close();
    await services.pool.end();
  }
}
