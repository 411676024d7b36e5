import { availableParallelism } from "node:os";
import type { DataFolder } from "./data-folder.ts";
import type { LocalChain, ServedChain } from "./local-chains.ts";

type Env = Readonly<Record<string, string | undefined>>;

interface Embedded {
  /** The launcher's own environment. */
  given: Env;
  folder: DataFolder;
  /** Of the API. */
  port: number;
  databaseUrl: string;
  locals: readonly LocalChain[];
  /** The database is the embedded one. */
  ownDatabase: boolean;
}

/** The variable that names a chain's endpoints. */
export function rpcVariable(chain: string): string {
  return `RPC_URL_${chain.toUpperCase()}`;
}

/** What the programs of the stack get beyond the launcher's own environment: where the embedded parts are. */
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
    // One port is not for all of them; the API has the same figures.
    METRICS_PORT: "0",
    DATABASE_URL: databaseUrl,
    MINTYARD_DATA_DIR: folder.path,
    // Uploads that wait for their turn are buffered in the system's temporary folder; this is theirs.
    TMPDIR: folder.emptyFolder("tmp"),
    KEY_PEPPER: given["KEY_PEPPER"] ?? folder.keyPepper(),
  };
  // The database shares the machine's cores with everything else: heavy reads take half of them at most.
  if (ownDatabase && availableParallelism() < 4) env["MAX_HEAVY_READS"] = given["MAX_HEAVY_READS"]?.trim() || "1";
  // And its processes are this login's.
  if (ownDatabase) env["HEAVY_READS_LOW_PRIORITY"] = given["HEAVY_READS_LOW_PRIORITY"]?.trim() || "true";
  // The key of the folder opens an enterprise account, so it exists on embedded databases only.
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

/** Whether the stack has to sign for anybody: with keys of its own chains, or with those that it was given. */
export function hasWallets(given: Env, locals: readonly string[]): boolean {
  const named = Object.keys(given).some((name) => /^RELAYER_(KEY|ADDRESS)/.test(name) && given[name]?.trim());
  return locals.length > 0 || named;
}

/** What the signer of a stack gets beyond the other programs: where it listens, and files, never a key. */
export function signerEnvironment(url: string, locals: readonly LocalChain[]): Record<string, string> {
  const env: Record<string, string> = { SIGNER_LISTEN: url };
  for (const { name, relayerKeyFile } of locals) {
    env[`RELAYER_KEY_FILE_${name.toUpperCase()}`] = relayerKeyFile;
    // The wallet of a local chain is the one that was funded there.
    env[`RELAYER_KEY_${name.toUpperCase()}`] = "";
  }
  return env;
}

/** What the others get of it, and of its wallets. */
export function askersEnvironment(signer: Env, chains: readonly ServedChain[]): Record<string, string> {
  const env: Record<string, string> = { SIGNER_URL: signer["SIGNER_LISTEN"] ?? "" };
  for (const { name, wallets } of chains)
    if (wallets.length > 0) env[`RELAYER_ADDRESS_${name.toUpperCase()}`] = wallets.join(",");
  return env;
}
