import type { Address } from "viem";
import type { Chain } from "../chains.ts";
import { keySigner } from "./keyrings.ts";
import { openKeystores } from "./keystore.ts";
import { type SigningPolicy, underRules } from "./rules.ts";
import type { Signer } from "./signer.ts";
import type { SigningBackend } from "./signing-backend.ts";

/** The wallets of a chain, of which the first is the admin of its collections: from keys, then from key files. */
export function openKeySigners({ relayerKey, relay }: Chain): Signer[] {
  const keys = relayerKey ? [relayerKey, ...relay.moreKeys] : [];
  return [...keys, ...openKeystores(relay.keystores)].map(keySigner);
}

/**
 * Signs with keys in this process: for tests, and for an installation without a signer of its own.
 *
 * @param admin whether it runs an operator's command.
 */
export function inProcessSigning(admin: boolean): SigningBackend {
  return {
    kind: "in_process",
    wallets: (chain) => {
      // An operator's command may still show wallets whose keys are elsewhere.
      if (chain.relay.wallets.length > 0) return chain.relay.wallets.map((address) => unable(address, noSigner(chain)));
      const signers = openKeySigners(chain);
      const policy = { ...callersPolicy(chain), wallets: signers.map(({ address }) => address) };
      return signers.map((signer) => underRules(signer, policy, admin));
    },
    check: async () => null,
    requireAnswer: async () => undefined,
    held: async () => null,
    close: () => undefined,
  };
}

/** For a process that knows the wallets but signs nothing: the HTTP process (transactions/accept/until-signed.ts). */
export function addressesAlone(): SigningBackend {
  const why = "this process has no signer: a worker signs";
  return {
    ...inProcessSigning(false),
    wallets: (chain) => {
      const { wallets } = chain.relay;
      const addresses = wallets.length > 0 ? wallets : openKeySigners(chain).map(({ address }) => address);
      return addresses.map((address) => unable(address, why));
    },
  };
}

function unable(address: Address, why: string): Signer {
  return { address, sign: () => Promise.reject(new Error(why)) };
}

/** The error where wallets are configured and nothing signs for them. */
export function noSigner({ name }: Pick<Chain, "name">): string {
  const suffix = name.toUpperCase();
  return (
    `SIGNER_URL: missing; RELAYER_ADDRESS_${suffix} names wallets, and here is neither a signer nor a key of them ` +
    `(RELAYER_KEY_${suffix}). What signs is the worker's setting`
  );
}

/** The rules for a process that compares the factory with the request's (src/transactions/submit/sign-attempt.ts). */
export function callersPolicy({ id, relay }: Chain): SigningPolicy {
  const { maxFeeWei, wallets, signsRoles } = relay;
  return { chainId: id, maxFeeWei, factories: null, operators: null, wallets, roles: signsRoles, dayWei: null };
}
