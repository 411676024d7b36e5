import { availableParallelism } from "node:os";
import type { DataFolder } from "./data-folder.ts";
import type { LocalChain, ServedChain } from "./local-chains.ts";

type Env = Readonly<Record<string, string | undefined>>;

interface Embedded {
  /** The launcher's own environment. */
  given: Env;
  folder: DataFolder;
  /** The API's port. */
  port: number;
  databaseUrl: string;
  locals: readonly LocalChain[];
  /** Whether the database is the embedded one. */
  ownDatabase: boolean;
}

/** The variable for a chain's endpoints. */
export function rpcVariable(chain: string): string {
  return `RPC_URL_${chain.toUpperCase()}`;
}

/** Variables for the stack's programs, added to the launcher's environment: addresses of the embedded parts. */
export function childEnvironment({
  given,
  folder,
  port,
  databaseUrl,
  locals,
  ownDatabase,
}: Embedded): Record<string, string> {
  const env: Record<string, string> = {
    PORT: String(port),
    // The programs cannot share one port; the API exports the same figures.
    METRICS_PORT: "0",
    DATABASE_URL: databaseUrl,
    MINTYARD_DATA_DIR: folder.path,
    // Uploads waiting for their turn are buffered in the system's temporary folder; the stack uses one of its own.
    TMPDIR: folder.emptyFolder("tmp"),
    KEY_PEPPER: given["KEY_PEPPER"] ?? folder.keyPepper(),
  };
  // The database shares the machine's cores with everything else: heavy reads get half of them at most.
  if (ownDatabase && availableParallelism() < 4) env["MAX_HEAVY_READS"] = given["MAX_HEAVY_READS"]?.trim() || "1";
  // The database's processes run under this login, so their priority can be lowered.
  if (ownDatabase) env["HEAVY_READS_LOW_PRIORITY"] = given["HEAVY_READS_LOW_PRIORITY"]?.trim() || "true";
  // The folder's key opens an enterprise account, so only embedded databases have it.
  if (ownDatabase) env["MINTYARD_API_KEY"] = given["MINTYARD_API_KEY"]?.trim() || folder.apiKey();
  for (const local of locals) {
    const suffix = local.name.toUpperCase();
    env[rpcVariable(local.name)] = local.rpcUrl;
    env[`CHAIN_ID_${suffix}`] = String(local.id);
    env[`LOCAL_${suffix}`] = "true";
    env[`CONFIRMATIONS_${suffix}`] = given[`CONFIRMATIONS_${suffix}`]?.trim() || "1";
    env[`PAID_TIER_ONLY_${suffix}`] = given[`PAID_TIER_ONLY_${suffix}`]?.trim() || String(local.name === "ethereum");
    env[`FACTORY_${suffix}`] = local.factory.address;
    env[`FACTORY_BLOCK_${suffix}`] = String(local.factory.block);
    env[`OPERATOR_${suffix}`] = local.operator.address;
    env[`OPERATOR_BLOCK_${suffix}`] = local.operator.block;
    env[`EASY_CONTRACT_${suffix}`] = local.operator.easyContract;
    env[`RELAYER_ADDRESS_${suffix}`] = local.relayer;
  }
  return env;
}

/** Whether the stack has anything to sign with: the keys of its own chains, or keys from its environment. */
export function hasWallets(given: Env, locals: readonly string[]): boolean {
  const named = Object.keys(given).some((name) => /^RELAYER_(KEY|ADDRESS)/.test(name) && given[name]?.trim());
  return locals.length > 0 || named;
}

/** The variables that only a stack's signer gets: its address, and files with keys, never a key. */
export function signerEnvironment(url: string, locals: readonly LocalChain[]): Record<string, string> {
  const env: Record<string, string> = { SIGNER_LISTEN: url };
  for (const { name, relayerKeyFile } of locals) {
    env[`RELAYER_KEY_FILE_${name.toUpperCase()}`] = relayerKeyFile;
    // A local chain's wallet is always the one that was funded there.
    env[`RELAYER_KEY_${name.toUpperCase()}`] = "";
  }
  return env;
}

/** The variables by which the other programs reach the signer and know its wallets. */
export function askersEnvironment(signer: Env, chains: readonly ServedChain[]): Record<string, string> {
  const env: Record<string, string> = { SIGNER_URL: signer["SIGNER_LISTEN"] ?? "" };
  for (const { name, wallets } of chains)
    if (wallets.length > 0) env[`RELAYER_ADDRESS_${name.toUpperCase()}`] = wallets.join(",");
  return env;
}
