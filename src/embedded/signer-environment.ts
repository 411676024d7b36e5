import type { ServedChain } from "./chain-setup.ts";
import type { LocalChain } from "./local-chain-process.ts";

type Env = Readonly<Record<string, string | undefined>>;

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
