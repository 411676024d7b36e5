import { readFileSync } from "node:fs";
import type { Address, Hash, Hex } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import { z } from "zod";
import {
  type Chain,
  configuredSuffixes,
  defaultCoin,
  defaultRelayPolicy,
  knownChains,
  type Operator,
  type RelayPolicy,
} from "../chains.ts";
import { ConfigError, readSwitch, readWord } from "../setting-words.ts";
import { isSignedElsewhere } from "../signing/endpoint.ts";
import { parseAddresses, parseKeys, readSignsRoles } from "../signing/signer-config.ts";
import { count, type Env, evmAddress, hash32, read, readList, readWith, units, url } from "./values.ts";

/** As wallets accept it (EIP-3085); some require 2 to 6 characters. */
const coinSymbol = z.string().regex(/^[A-Za-z0-9.]{1,11}$/, "a symbol of 1 to 11 letters and digits is wanted");
const operators = z
  .string()
  .regex(
    /^\s*0x[0-9a-fA-F]{40}(:\d{1,15})?\s*(,\s*0x[0-9a-fA-F]{40}(:\d{1,15})?\s*)*$/,
    "addresses with commas are wanted, each with its block behind a colon",
  )
  .transform((text): readonly Operator[] =>
    text.split(",").map((part) => {
      const [address = "", block = "0"] = part.trim().toLowerCase().split(":");
      return { address: address as Address, block: BigInt(block) };
    }),
  );
/** @returns null for anything but a list of addresses. */
function addressesOf(text: string): Address[] | null {
  if (!/^0x[0-9a-fA-F]{40}(\s*,\s*0x[0-9a-fA-F]{40})*$/.test(text)) return null;
  return text
    .toLowerCase()
    .split(",")
    .map((item) => item.trim() as Address)
    .sort();
}

/** The chains that this process serves: one for each `RPC_URL_<NAME>`. `CHAIN_ID_<NAME>` adds any other EVM chain. */
export function loadChains(env: Env): Chain[] {
  const chains = configuredSuffixes(env).map((suffix) => loadChain(env, suffix));
  return limitFreeAccounts(chains, {
    day: read(env, "FREE_ACCOUNT_DAY_EUR", units(6), 10n ** 6n),
    month: read(env, "FREE_ACCOUNT_MONTH_EUR", units(6), 5n * 10n ** 6n),
  });
}

/** Per cent of a free account's daily cost that may be gas; the rest is everything else (docs/limits.md). */
export const gasShare = 75n;
/** The same for a month. Other costs add up: for most of them, a month allows as many requests as thirty days. */
export const monthGasShare = 35n;

/**
 * Converts the cost limits of a free account to gas on each chain. Chains that free accounts may deploy on and whose
 * coin is worth something get equal shares.
 *
 * @param microEur for a day and a month, in millionths of a euro.
 */
function limitFreeAccounts(chains: readonly Chain[], microEur: { day: bigint; month: bigint }): Chain[] {
  const dear = chains.filter(({ relay, paidTierOnly }) => relay.coinMicroEur > 0n && !paidTierOnly);
  return chains.map((chain) => {
    if (!dear.includes(chain)) return chain;
    const gasOf = (most: bigint, share: bigint) =>
      (most * share * 10n ** 18n) / (100n * chain.relay.coinMicroEur * BigInt(dear.length));
    const freeAccountDayWei = gasOf(microEur.day, gasShare);
    const freeAccountMonthWei = gasOf(microEur.month, monthGasShare);
    return { ...chain, relay: { ...chain.relay, freeAccountDayWei, freeAccountMonthWei } };
  });
}

function loadChain(env: Env, suffix: string): Chain {
  const name = suffix.toLowerCase();
  const known = knownChains[name];
  const id = read(env, `CHAIN_ID_${suffix}`, count, known?.id ?? 0);
  if (id === 0) throw new ConfigError(`CHAIN_ID_${suffix}: missing; ${name} is not a chain whose id is known`);
  const rpcUrls = readList(env, `RPC_URL_${suffix}`);
  for (const item of rpcUrls)
    if (!/^(https?|wss?):\/\//.test(item) || !URL.canParse(item))
      throw new ConfigError(`RPC_URL_${suffix}: each entry must be an http(s) or ws(s) URL`);
  // Node's WebSocket sends neither.
  if (rpcUrls.some((item) => item.startsWith("ws") && new URL(item).username + new URL(item).password !== ""))
    throw new ConfigError(
      `RPC_URL_${suffix}: a user and a password work in http(s) URLs alone; name that of the endpoint, or its ws URL with a key in the path`,
    );
  const factory = read<Address | null>(env, `FACTORY_${suffix}`, evmAddress, null);
  const quorum = read(env, `RPC_QUORUM_${suffix}`, count, 1);
  if (quorum > rpcUrls.length)
    throw new ConfigError(
      `RPC_QUORUM_${suffix}: ${quorum} endpoints have to agree, and RPC_URL_${suffix} names ${rpcUrls.length}; name more, or lower it`,
    );
  // When another process signs, this one does not even read keys.
  const elsewhere = isSignedElsewhere(env);
  const [relayerKey = null, ...moreKeys] = elsewhere ? [] : readKeys(env, suffix);
  const keystores = elsewhere ? [] : readKeystores(env, suffix);
  const local = readSwitch(env, `LOCAL_${suffix}`, false);
  return {
    name,
    id,
    local,
    rpcUrls,
    explorerTxUrl: read(env, `EXPLORER_TX_URL_${suffix}`, url, known?.explorerTxUrl ?? `https://blockscan.com/tx`),
    coin: read(env, `COIN_SYMBOL_${suffix}`, coinSymbol, defaultCoin(id, name)),
    walletRpcUrl: read<string | null>(env, `WALLET_RPC_URL_${suffix}`, url, null),
    factory: factory && {
      address: factory,
      block: BigInt(read(env, `FACTORY_BLOCK_${suffix}`, count, 0)),
    },
    operator: readOperator(env, suffix),
    relayerKey,
    relay: {
      ...loadRelayPolicy(env, suffix, id, local),
      moreKeys,
      keystores,
      wallets: relayerKey === null && keystores.length === 0 ? readWallets(env, suffix) : [],
    },
    confirmations: read(env, `CONFIRMATIONS_${suffix}`, count, known?.confirmations ?? 12),
    startBlock: read(env, `START_BLOCK_${suffix}`, count, 0),
    indexScope: readWord(env, `INDEX_SCOPE_${suffix}`, ["all", "factory"], "all", {
      called: "a list of addresses",
      read: addressesOf,
    }),
    verification: readWord(env, `VERIFY_${suffix}`, ["proofs", "logs", "off"], local ? "proofs" : "logs"),
    requestsPerSecond: read(env, `RPC_RATE_${suffix}`, count, 0),
    paidTierOnly: readSwitch(env, `PAID_TIER_ONLY_${suffix}`, known?.paidTierOnly ?? false),
  };
}

function readOperator(env: Env, suffix: string): Chain["operator"] {
  const address = read<Address | null>(env, `OPERATOR_${suffix}`, evmAddress, null);
  const easyContract = read<Address | null>(env, `EASY_CONTRACT_${suffix}`, evmAddress, null);
  return (
    address && {
      address,
      block: BigInt(read(env, `OPERATOR_BLOCK_${suffix}`, count, 0)),
      easyContract,
      before: read(env, `OPERATORS_BEFORE_${suffix}`, operators, []),
    }
  );
}

function loadRelayPolicy(env: Env, suffix: string, id: number, local: boolean): RelayPolicy {
  const defaults = defaultRelayPolicy(id, local);
  return {
    ...defaults,
    maxFeeWei: read(env, `MAX_FEE_GWEI_${suffix}`, units(9), defaults.maxFeeWei),
    minTipWei: read(env, `MIN_TIP_GWEI_${suffix}`, units(9), defaults.minTipWei),
    signsRoles: readSignsRoles(env, suffix),
    bumpAfterBlocks: read(env, `BUMP_AFTER_BLOCKS_${suffix}`, count, defaults.bumpAfterBlocks),
    maxPending: read(env, `MAX_PENDING_${suffix}`, count, defaults.maxPending),
    finality: readWord(env, `FINALITY_${suffix}`, ["tag"], "tag", {
      called: "a number of blocks",
      read: (text) => count.safeParse(text).data ?? null,
    }),
    quorum: read(env, `RPC_QUORUM_${suffix}`, count, defaults.quorum),
    genesisHash: read<Hash | null>(env, `GENESIS_HASH_${suffix}`, hash32, null),
    tenantDayWei: read(env, `BUDGET_TENANT_DAY_${suffix}`, units(18), defaults.tenantDayWei),
    chainHourWei: read(env, `BUDGET_CHAIN_HOUR_${suffix}`, units(18), defaults.chainHourWei),
    chainDayWei: read(env, `BUDGET_CHAIN_DAY_${suffix}`, units(18), defaults.chainDayWei),
    coinMicroEur: read(env, `COIN_EUR_${suffix}`, units(6), defaults.coinMicroEur),
  };
}

/** From the variable, then from the file. */
function readKeys(env: Env, suffix: string): Hex[] {
  const file = env[`RELAYER_KEY_FILE_${suffix}`]?.trim();
  const texts = [[`RELAYER_KEY_${suffix}`, env[`RELAYER_KEY_${suffix}`] ?? ""]];
  if (file)
    texts.push([
      `RELAYER_KEY_FILE_${suffix}`,
      readWith(`RELAYER_KEY_FILE_${suffix}`, () => readFileSync(file, "utf8")),
    ]);
  const keys = texts.flatMap(([name = "", text = ""]) => readWith(name, () => parseKeys(name, text)));
  for (const key of keys) checkKey(key, suffix);
  return keys;
}

function readKeystores(env: Env, suffix: string): RelayPolicy["keystores"] {
  const passwordFile = env[`RELAYER_KEYSTORE_PASSWORD_FILE_${suffix}`]?.trim() ?? "";
  const paths = readList(env, `RELAYER_KEYSTORE_${suffix}`);
  if (paths.length > 0 && !passwordFile)
    throw new ConfigError(`RELAYER_KEYSTORE_PASSWORD_FILE_${suffix}: missing; it names the file with the password`);
  return paths.map((path) => ({ path, passwordFile }));
}

function readWallets(env: Env, suffix: string): Address[] {
  const name = `RELAYER_ADDRESS_${suffix}`;
  return readWith(name, () => parseAddresses(name, env[name]));
}

function checkKey(key: Hex, suffix: string): void {
  try {
    privateKeyToAddress(key);
  } catch {
    throw new ConfigError(`RELAYER_KEY_${suffix}: not a usable secp256k1 key`);
  }
}
