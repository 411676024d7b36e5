import type { Address, Hex } from "viem";
import { privateKeyToAddress, sign } from "viem/accounts";
import { keccak256 } from "viem/utils";
import type { Logger } from "../telemetry/log.ts";
import type { SigningPolicy } from "./rules.ts";
import { encodeTransaction, type Signer } from "./signer.ts";
import type { SignerConfig } from "./signer-config.ts";

/** The wallets of one chain and their signing policy. */
export interface Keyring {
  chain: string;
  policy: SigningPolicy;
  signers: readonly Signer[];
}

/** The wallets of each chain: from keys, then from key files; or those of the Web3Signer behind this process. */
export async function openKeyrings({ chains, web3Signer }: SignerConfig, log: Logger): Promise<Keyring[]> {
  // Imported on demand, since few installations need it.
  const { web3Signer: open } = web3Signer ? await import("./signer-client.ts") : {};
  return await Promise.all(
    chains.map(async ({ chain, policy, keys, keystores }) => {
      if (web3Signer && open) {
        // The server checks the rules before it asks this backend.
        const backend = open(web3Signer, () => policy, log, true);
        return { chain, policy, signers: backend.walletsOf(policy.chainId, policy.wallets) };
      }
      const files = keystores.length > 0 ? (await import("./keystore.ts")).openKeystores(keystores) : [];
      const signers = [...keys, ...files].map(keySigner);
      return { chain, policy: { ...policy, wallets: signers.map(({ address }) => address) }, signers };
    }),
  );
}

/** @returns a wallet whose key is in this process; it signs any order. */
export function keySigner(key: Hex): Signer {
  return {
    address: privateKeyToAddress(key).toLowerCase() as Address,
    sign: async ({ transaction }) =>
      await sign({ hash: keccak256(encodeTransaction(transaction)), privateKey: key, to: "hex" }),
    inProcess: true,
  };
}
