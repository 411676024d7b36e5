import { readFileSync } from "node:fs";
import type { Chain } from "../chains.ts";
import { decryptKeystore } from "./keystore.ts";
import { keySigner, underRules } from "./local-keys.ts";
import type { SigningPolicy } from "./rules.ts";
import type { Signer } from "./signer.ts";
import type { SigningBackend } from "./signing-backend.ts";

/** The wallets of a chain, the first one being the admin of its collections: keys, then key files. */
export function openKeySigners({ relayerKey, relay }: Chain): Signer[] {
  const keys = relayerKey ? [relayerKey, ...relay.moreKeys] : [];
  const files = relay.keystores.map(({ path, passwordFile }) => {
    const password = readFileSync(passwordFile, "utf8").replace(/\r?\n$/, "");
    return decryptKeystore(readFileSync(path, "utf8"), password);
  });
  return [...keys, ...files].map(keySigner);
}

/**
 * Keys in this process: for tests, and for an installation without a signer of its own.
 *
 * @param admin it runs an operator's command.
 */
export function inProcessSigning(admin: boolean): SigningBackend {
  return {
    kind: "in_process",
    wallets: (chain) => {
      const signers = openKeySigners(chain);
      const policy = { ...callersPolicy(chain), wallets: signers.map(({ address }) => address) };
      return signers.map((signer) => underRules(signer, policy, admin));
    },
    check: async () => null,
    requireAnswer: async () => undefined,
    requireRoom: async () => undefined,
    held: async () => null,
    close: () => undefined,
  };
}

/** The rules where the same process compares the factory with the request's own (src/relay/submit/sign-attempt.ts). */
export function callersPolicy({ id, relay }: Chain): SigningPolicy {
  const { maxFeeWei, wallets, signsRoles } = relay;
  return { chainId: id, maxFeeWei, factories: null, operators: null, wallets, roles: signsRoles, dayWei: null };
}
