import { readFileSync } from "node:fs";
import type { Logger } from "../telemetry/log.ts";
import { keySigner } from "./local-keys.ts";
import type { ChainKeys, SignerConfig } from "./signer-config.ts";
import type { Keyring } from "./signer-server.ts";

/** The wallets of each chain: keys, then key files; or those of the Web3Signer behind this process. */
export async function openKeyrings({ chains, web3Signer }: SignerConfig, log: Logger): Promise<Keyring[]> {
  const { web3Signer: open } = web3Signer ? await import("./web3signer.ts") : {};
  return await Promise.all(
    chains.map(async (keys) => {
      const { chain, policy } = keys;
      if (web3Signer && open) {
        // The server has looked at the rules before it asks.
        const backend = open(web3Signer, () => policy, log, true);
        return { chain, policy, signers: backend.walletsOf(policy.chainId, policy.wallets) };
      }
      const signers = (await openKeys(keys)).map(keySigner);
      return { chain, policy: { ...policy, wallets: signers.map(({ address }) => address) }, signers };
    }),
  );
}

async function openKeys({ keys, keystores }: ChainKeys): Promise<`0x${string}`[]> {
  if (keystores.length === 0) return [...keys];
  const { decryptKeystore } = await import("./keystore.ts");
  const files = keystores.map(({ path, passwordFile }) => {
    const password = readFileSync(passwordFile, "utf8").replace(/\r?\n$/, "");
    return decryptKeystore(readFileSync(path, "utf8"), password);
  });
  return [...keys, ...files];
}
