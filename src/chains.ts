import type { Address, Hash, Hex } from "viem";
import { ServiceError } from "./errors/errors.ts";

/** An operator of product contracts and the block it was deployed in. */
export interface Operator {
  /** Lower case. */
  address: Address;
  block: bigint;
}

/** All operators of a chain; the first one is used for new contracts. */
export function operatorsOf({ operator }: Pick<Chain, "operator">): readonly Operator[] {
  return operator ? [operator, ...(operator.before ?? [])] : [];
}

/** One EVM chain as this installation knows it. */
export interface Chain {
  /** Name in requests and in the environment's variables: lower case, `ethereum`, `polygon`, `goerli`, … */
  name: string;
  /** EIP-155 id. A local stand-in never carries a real network's id: signatures for it could be replayed. */
  id: number;
  /** Whether this installation started the chain itself. */
  local: boolean;
  /** JSON-RPC endpoints, best first; empty when the chain is only known by name. */
  rpcUrls: readonly string[];
  /** Base of transaction links, without a slash at the end: `https://polygonscan.com/tx`. */
  explorerTxUrl: string;
  /** Symbol of its native coin, which pays gas and mints; it has 18 decimals. */
  coin: string;
  /** A public endpoint for wallets that have to add the chain; null: none. */
  walletRpcUrl: string | null;
  /** Collection factory of the service and the block it was deployed in; null: no deployments on this chain. */
  factory: { address: Address; block: bigint } | null;
  /**
   * Operator of the product contracts, its deployment block, the contract of easy mints, and earlier operators, which
   * keep working for the contracts that they deployed; null: no minting on a client's behalf on this chain.
   */
  operator: { address: Address; block: bigint; easyContract: Address | null; before?: readonly Operator[] } | null;
  /** Private key of the wallet that pays for deployments; null: no deployments on this chain. */
  relayerKey: Hex | null;
  /** Blocks until a deployment counts as confirmed, including its own: 1 means as soon as it is mined. */
  confirmations: number;
  /** First block to index. */
  startBlock: number;
  relay: RelayPolicy;
  /** Which contracts are indexed: all, only what our factory created, or those listed (lower case). */
  indexScope: "all" | "factory" | readonly Address[];
  /** How much of the nodes' answers the indexer verifies (src/indexing/verified-chain.ts). */
  verification: "proofs" | "logs" | "off";
  /** Requests per second that the indexer sends to each endpoint; 0: no limit. */
  requestsPerSecond: number;
  /** Deploying here charges a fee and needs a paid tier (service.md, Limits). */
  paidTierOnly: boolean;
}

/** What the relay may pay, and when it trusts a chain. */
export interface RelayPolicy {
  /** Further wallets that may deploy, in addition to `relayerKey`'s; each needs the factory's RELAYER_ROLE. */
  moreKeys: readonly Hex[];
  /** Wallets whose keys are elsewhere (src/signing/), lower case, the first one first; there are no keys here then. */
  wallets: readonly Address[];
  /** Encrypted key files (V3 JSON), instead of keys in the environment. */
  keystores: readonly { path: string; passwordFile: string }[];
  /** Nothing is ever signed with a higher fee per gas. */
  maxFeeWei: bigint;
  /** No transaction offers a smaller tip per gas: nodes drop transactions below their minimum silently. */
  minTipWei: bigint;
  /** Whether role lists of product contracts, and the end of the service's rights, may be signed here. */
  signsRoles: boolean;
  /** An unmined transaction is replaced after this many blocks. */
  bumpAfterBlocks: number;
  /** Pending transactions per wallet; with more, nodes begin to drop them. */
  maxPending: number;
  /** `tag`: the node's finalized block. A number: so many blocks on top. */
  finality: "tag" | number;
  /** Endpoints that have to agree before a deployment counts as final. */
  quorum: number;
  /** Expected hash of block 0; null: not pinned. */
  genesisHash: Hash | null;
  /** Most that one account may reserve and spend here in a day, and all accounts in an hour and in a day. */
  tenantDayWei: bigint;
  chainHourWei: bigint;
  chainDayWei: bigint;
  /** Assumed price of the chain's coin, in millionths of a euro; 0: worthless. */
  coinMicroEur: bigint;
  /** Most one free account may cost in a day; null: the coin is worthless, or free accounts cannot deploy here. */
  freeAccountDayWei: bigint | null;
  /** The same for a month. */
  freeAccountMonthWei: bigint | null;
}

const gwei = 10n ** 9n;
const ether = 10n ** 18n;

/** Chains whose native coin is not ether. */
const coins: Readonly<Record<number, string>> = {
  25: "CRO",
  56: "BNB",
  97: "tBNB",
  100: "xDAI",
  137: "POL",
  146: "S",
  1284: "GLMR",
  5000: "MNT",
  33139: "APE",
  42220: "CELO",
  43113: "AVAX",
  43114: "AVAX",
  80002: "POL",
  80094: "BERA",
};

/** Symbol of a chain's native coin, unless its operator sets one. @param name counts for a local stand-in too. */
export const defaultCoin = (id: number, name: string): string => coins[id] ?? (name === "polygon" ? "POL" : "ETH");

/** In euros of 2025, rounded up; a coin without a price counts as the dearest of them. */
const dearestCoinMicroEur = 4_000_000_000n;
const coinsMicroEur: Readonly<Record<number, bigint>> = { 1: dearestCoinMicroEur, 5: 0n, 137: 500_000n };

/**
 * Nodes of Polygon and its test network Amoy take no transaction with a tip below 25 gwei, some none below 30.
 * Elsewhere blocks show what is paid; with a base fee of 0.01 gwei, a tip of 0.1 would be most of the price.
 */
const minTipsWei: Readonly<Record<number, bigint>> = {
  1: gwei / 10n,
  5: gwei / 10n,
  137: 30n * gwei,
  80002: 30n * gwei,
};
const leastTipWei = gwei / 1_000n;

/** The policy of a chain without settings. Amounts are in the chain's native coin, so they differ in value. */
export function defaultRelayPolicy(chainId: number, local: boolean): RelayPolicy {
  const base: RelayPolicy = {
    moreKeys: [],
    wallets: [],
    keystores: [],
    maxFeeWei: 300n * gwei,
    minTipWei: minTipsWei[chainId] ?? leastTipWei,
    signsRoles: local,
    bumpAfterBlocks: 3,
    maxPending: 16,
    finality: "tag",
    quorum: 1,
    genesisHash: null,
    tenantDayWei: 2n * ether,
    chainHourWei: 5n * ether,
    chainDayWei: 30n * ether,
    coinMicroEur: coinsMicroEur[chainId] ?? dearestCoinMicroEur,
    freeAccountDayWei: null,
    freeAccountMonthWei: null,
  };
  if (local) {
    const most = 10n ** 6n * ether;
    const budget = { tenantDayWei: most, chainHourWei: most, chainDayWei: most, coinMicroEur: 0n };
    return { ...base, ...budget, maxFeeWei: 10_000n * gwei, maxPending: 1_000 };
  }
  if (chainId === 137)
    return {
      ...base,
      maxFeeWei: 3_000n * gwei,
      tenantDayWei: 200n * ether,
      chainHourWei: 1_000n * ether,
      chainDayWei: 6_000n * ether,
    };
  return base;
}

/** Defaults of the well-known names; the environment can override everything. */
export const knownChains: Record<
  string,
  { id: number; explorerTxUrl: string; confirmations: number; paidTierOnly?: boolean }
> = {
  ethereum: { id: 1, explorerTxUrl: "https://etherscan.io/tx", confirmations: 12, paidTierOnly: true },
  polygon: { id: 137, explorerTxUrl: "https://polygonscan.com/tx", confirmations: 64 },
  goerli: { id: 5, explorerTxUrl: "https://goerli.etherscan.io/tx", confirmations: 12 },
};

/** Chain ids of the local stand-ins that `npm start` runs. */
export const localChainIds: Record<string, number> = { goerli: 31337, polygon: 31338, ethereum: 31339 };

/** Former name of the test chain; requests that use it get it echoed. */
export const chainAliases: Record<string, string> = { rinkeby: "goerli" };

/**
 * The chains that an environment configures, by their suffix of `RPC_URL_`: the well-known ones first, then by name.
 */
export function configuredSuffixes(env: Readonly<Record<string, string | undefined>>): string[] {
  const prefix = "RPC_URL_";
  const order = Object.keys(knownChains);
  const rank = (name: string) => (order.indexOf(name) + order.length + 1) % (order.length + 1);
  const byName = (a: string, b: string) => rank(a) - rank(b) || a.localeCompare(b);
  return Object.keys(env)
    .filter((name) => name.startsWith(prefix) && env[name]?.trim())
    .map((name) => name.slice(prefix.length))
    .sort((a, b) => byName(a.toLowerCase(), b.toLowerCase()));
}

/** The names that a request may use, including aliases, for error messages. */
function chainNames(chains: readonly Chain[]): string[] {
  const names = chains.map((chain) => chain.name);
  const aliases = Object.entries(chainAliases).filter(([, target]) => names.includes(target));
  return [...names, ...aliases.map(([alias]) => alias)];
}

/**
 * Finds the chain of a request.
 *
 * @throws ServiceError `invalid_enumeration` for an unknown name, `chain_not_supported` for a well-known chain that
 * this installation does not serve.
 */
export function findChain(chains: readonly Chain[], name: string): Chain {
  const wanted = chainAliases[name] ?? name;
  const chain = chains.find((candidate) => candidate.name === wanted);
  if (chain) return chain;
  const names = chainNames(chains);
  const context = { field: "chain", details: { got: name, allowed: names } };
  const allowed = names.join(", ");
  if (wanted in knownChains)
    throw new ServiceError("chain_not_supported", `chain ${name} is not served here; use one of: ${allowed}`, context);
  throw new ServiceError("invalid_enumeration", `chain must be one of: ${allowed}`, context);
}
