import type { Address, Hash, Hex } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import { z } from "zod";
import { type Chain, configuredSuffixes, defaultRelayPolicy, knownChains, type RelayPolicy } from "./chains.ts";
import { ConfigError, count, type Env, evmAddress, hash32, keyList, read, units, url } from "./config-values.ts";

const indexScope = z
  .string()
  .regex(
    /^(all|factory|0x[0-9a-fA-F]{40}(\s*,\s*0x[0-9a-fA-F]{40})*)$/,
    "all, factory or a list of addresses is wanted",
  )
  .transform((text): Chain["indexScope"] =>
    text === "all" || text === "factory"
      ? text
      : text
          .toLowerCase()
          .split(",")
          .map((item) => item.trim() as Address)
          .sort(),
  );

/**
 * The chains this process serves: each name with an `RPC_URL_<NAME>`.
 * `CHAIN_ID_<NAME>` makes any further EVM chain known.
 */
export function loadChains(env: Env): Chain[] {
  return configuredSuffixes(env).map((suffix) => loadChain(env, suffix));
}

function loadChain(env: Env, suffix: string): Chain {
  const name = suffix.toLowerCase();
  const known = knownChains[name];
  const id = read(env, `CHAIN_ID_${suffix}`, count, known?.id ?? 0);
  if (id === 0) throw new ConfigError(`CHAIN_ID_${suffix}: missing; ${name} is not a chain whose id is known`);
  const rpcUrls = (env[`RPC_URL_${suffix}`] ?? "")
    .split(",")
    .map((item) => item.trim())
    .filter(Boolean);
  for (const item of rpcUrls)
    if (!/^(https?|wss?):\/\//.test(item))
      throw new ConfigError(`RPC_URL_${suffix}: each entry must be an http(s) or ws(s) URL`);
  const factory = read<Address | null>(env, `FACTORY_${suffix}`, evmAddress, null);
  const [relayerKey = null, ...moreKeys] = read<Hex[]>(env, `RELAYER_KEY_${suffix}`, keyList, []);
  for (const key of relayerKey ? [relayerKey, ...moreKeys] : []) checkKey(key, suffix);
  const local = env[`LOCAL_${suffix}`] === "true";
  return {
    name,
    id,
    local,
    rpcUrls,
    explorerTxUrl: read(env, `EXPLORER_TX_URL_${suffix}`, url, known?.explorerTxUrl ?? `https://blockscan.com/tx`),
    factory: factory && {
      address: factory.toLowerCase() as Address,
      block: BigInt(read(env, `FACTORY_BLOCK_${suffix}`, count, 0)),
    },
    relayerKey,
    relay: { ...loadRelayPolicy(env, suffix, id, local), moreKeys },
    confirmations: read(env, `CONFIRMATIONS_${suffix}`, count, known?.confirmations ?? 12),
    startBlock: read(env, `START_BLOCK_${suffix}`, count, 0),
    indexScope: read<Chain["indexScope"]>(env, `INDEX_SCOPE_${suffix}`, indexScope, "all"),
    verification: read<Chain["verification"]>(
      env,
      `VERIFY_${suffix}`,
      z.enum(["proofs", "logs", "off"]),
      env[`LOCAL_${suffix}`] === "true" ? "proofs" : "logs",
    ),
    requestsPerSecond: read(env, `RPC_RATE_${suffix}`, count, 0),
    paidTierOnly: (env[`PAID_TIER_ONLY_${suffix}`] ?? String(known?.paidTierOnly ?? false)) === "true",
  };
}

function loadRelayPolicy(env: Env, suffix: string, id: number, local: boolean): RelayPolicy {
  const defaults = defaultRelayPolicy(id, local);
  const finality = z.union([z.literal("tag"), count], "`tag` or a number of blocks is wanted");
  const passwordFile = env[`RELAYER_KEYSTORE_PASSWORD_FILE_${suffix}`]?.trim() ?? "";
  const paths = (env[`RELAYER_KEYSTORE_${suffix}`] ?? "")
    .split(",")
    .map((item) => item.trim())
    .filter(Boolean);
  if (paths.length > 0 && !passwordFile)
    throw new ConfigError(`RELAYER_KEYSTORE_PASSWORD_FILE_${suffix}: missing; it names the file with the password`);
  return {
    ...defaults,
    keystores: paths.map((path) => ({ path, passwordFile })),
    maxFeeWei: read(env, `MAX_FEE_GWEI_${suffix}`, units(9), defaults.maxFeeWei),
    bumpAfterBlocks: read(env, `BUMP_AFTER_BLOCKS_${suffix}`, count, defaults.bumpAfterBlocks),
    maxPending: read(env, `MAX_PENDING_${suffix}`, count, defaults.maxPending),
    finality: read<"tag" | number>(env, `FINALITY_${suffix}`, finality, defaults.finality),
    quorum: read(env, `RPC_QUORUM_${suffix}`, count, defaults.quorum),
    genesisHash: read<Hash | null>(env, `GENESIS_HASH_${suffix}`, hash32, null),
    tenantDayWei: read(env, `BUDGET_TENANT_DAY_${suffix}`, units(18), defaults.tenantDayWei),
    chainHourWei: read(env, `BUDGET_CHAIN_HOUR_${suffix}`, units(18), defaults.chainHourWei),
  };
}

function checkKey(key: Hex, suffix: string): void {
  try {
    privateKeyToAddress(key);
  } catch {
    throw new ConfigError(`RELAYER_KEY_${suffix}: not a usable secp256k1 key`);
  }
}
