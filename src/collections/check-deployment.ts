import { type Address, BaseError, ExecutionRevertedError, getAddress, type Hex, isAddress } from "viem";
import { encodeInitData } from "../../contracts/abi/config.ts";
import type { Caller } from "../auth/caller.ts";
import { planOf } from "../auth/plans.ts";
import { type Chain, findChain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import { calls, parseHex } from "../rpc/reads.ts";
import type { Services } from "../services.ts";
import { isDeployable } from "../transactions/chain/context.ts";
import { batched } from "../transactions/store/batch.ts";
import { type AllowlistTree, takeAllowlist } from "./allowlist-tree.ts";
import {
  configsOf,
  type DeployCollectionInput,
  type DeploymentMode,
  type DeploymentPayload,
  lowerCase,
} from "./deployment-input.ts";
import { Problems } from "./problems.ts";

export interface CheckedDeployment {
  chain: Chain;
  payload: DeploymentPayload;
  /** The whole request in the contract's encoding, which has a single spelling. */
  initData: Hex;
  allowlist: AllowlistTree;
  /** Valid, but probably unintended. */
  warnings: string[];
}

// Widths in the collection contract's packed word; its own checks enforce the same on chain.
const maxSupplyLimit = 2n ** 32n - 1n;
const maxPriceWei = 2n ** 88n - 1n;
const maxStart = 2n ** 40n - 2n;
/** Bounds the memory of a tree and the time in its thread: about five seconds. */
export const maxAllowlist = 100_000;
/** Limit of all texts; they live in contract storage, where each byte costs gas. */
const maxTextBytes = 8_192;

/**
 * Checks a deployment request and fills in its defaults; reads and writes nothing.
 *
 * @throws ServiceError the gravest fault, with all of them in `details.problems`.
 */
export async function checkDeployment(
  services: Services,
  caller: Caller,
  input: DeployCollectionInput,
  mode: DeploymentMode = "RELAY",
): Promise<CheckedDeployment> {
  const problems = new Problems();
  const chain = problems.attempt(() => findDeployChain(services, input.chain, mode));
  const reserved = reservedAddresses(services, chain);
  const { ownerAddress, treasuryAddress } = input;
  checkWallet(problems, "ownerAddress", ownerAddress, reserved);
  checkWallet(problems, "treasuryAddress", treasuryAddress, reserved);
  checkSupply(problems, input);
  checkPrices(problems, input);
  checkTexts(problems, input);
  const royaltiesBps = input.royaltiesBps ?? 0n;
  if (royaltiesBps < 0n || royaltiesBps > 10_000n)
    problems.add("value_error", "royaltiesBps", "the royalty share must be 0 to 10000 basis points");
  const royaltiesAddress = input.royaltiesAddress ?? ownerAddress;
  if (royaltiesBps > 0n && BigInt(royaltiesAddress) === 0n)
    problems.add("invalid_address", "royaltiesAddress", "royalties would go to the zero address");
  const publicMintStart = startSeconds(problems, "publicMintStart", input.publicMintStart);
  const presaleMintStart = input.presaleMintStart
    ? startSeconds(problems, "presaleMintStart", input.presaleMintStart)
    : 0n;
  const metadataUpdatable = input.metadataUpdatable ?? true;
  if (!metadataUpdatable && !input.baseUri)
    problems.add(
      "value_error",
      "baseUri",
      "metadata that is not updatable and has no base URI could never be revealed",
    );
  const listed = input.allowlist ?? [];
  if (listed.length > maxAllowlist)
    problems.add("value_error", "allowlist", `the presale list may hold ${maxAllowlist} wallets`);
  if (chain) checkPlan(problems, caller, chain, input.maxSupply);
  problems.check();
  // Last, because it is the only slow check: about 50 µs per wallet.
  const allowlist = await problems.attemptLater(() => takeAllowlist(services, caller, listed));
  problems.check();
  if (!chain || !allowlist) throw new Error("unreachable: a missing part was a problem");
  const payload: DeploymentPayload = {
    name: input.name,
    symbol: input.symbol,
    ownerAddress,
    treasuryAddress,
    royaltiesAddress,
    royaltiesBps: String(royaltiesBps),
    maxSupply: String(input.maxSupply),
    reservedSupply: String(input.reservedSupply ?? 0n),
    tokensPerMint: String(input.tokensPerMint),
    publicMintPriceWei: String(input.mintPriceWei),
    presaleMintPriceWei: String(input.presaleMintPriceWei ?? input.mintPriceWei),
    publicMintStart: String(publicMintStart),
    presaleMintStart: String(presaleMintStart),
    metadataUpdatable,
    baseUri: input.baseUri ?? "",
    prerevealTokenUri: input.prerevealTokenUri ?? "",
    presaleMerkleRoot: allowlist.root,
    grantServiceAdmin: input.grantServiceAdmin ?? true,
  };
  return {
    chain,
    payload,
    initData: encodeInitData(...configsOf(payload), payload.grantServiceAdmin),
    allowlist,
    warnings: [
      ...warnOfSales({ publicMintStart, presaleMintStart, listed: allowlist.entries.length }),
      ...warnOfBaseUri(input.baseUri),
      ...warnOfChecksums({ ownerAddress, treasuryAddress, royaltiesAddress: input.royaltiesAddress }),
    ],
  };
}

function findDeployChain(services: Services, name: string, mode: DeploymentMode): Chain {
  const chain = findChain(services.chains, name);
  // Throws where the operator has configured no factory or no relayer wallet.
  if (mode === "RELAY") services.relay.account(chain);
  return chain;
}

function reservedAddresses(services: Services, chain: Chain | undefined): Set<string> {
  if (!chain?.factory || !isDeployable(chain)) return new Set();
  const own = [...services.relay.signers(chain), chain.factory];
  return new Set(own.map(({ address }) => lowerCase(address)));
}

function checkWallet(problems: Problems, field: string, address: string, reserved: Set<string>): void {
  const what = field === "ownerAddress" ? "the owner" : "the treasury";
  // Zero, the precompiles and 0x…dEaD are in this range.
  if (BigInt(address) <= 0xffffn) problems.add("invalid_address", field, `${what} must be a wallet that can sign`);
  else if (reserved.has(address.toLowerCase()))
    problems.add("invalid_address", field, `${what} must not be an address of this service`);
}

function checkSupply(problems: Problems, input: DeployCollectionInput): void {
  const { maxSupply, tokensPerMint, reservedSupply = 0n } = input;
  if (maxSupply < 1n || maxSupply > maxSupplyLimit)
    problems.add("value_error", "maxSupply", `the maximum supply must be 1 to ${maxSupplyLimit}`);
  if (tokensPerMint < 1n || tokensPerMint > maxSupply)
    problems.add("value_error", "tokensPerMint", "tokens per mint must be 1 to the maximum supply");
  if (reservedSupply < 0n || reservedSupply > maxSupply)
    problems.add("value_error", "reservedSupply", "the team's reserve must be 0 to the maximum supply");
}

function checkPrices(problems: Problems, input: DeployCollectionInput): void {
  for (const field of ["mintPriceWei", "presaleMintPriceWei"] as const) {
    const wei = input[field] ?? 0n;
    if (wei < 0n || wei > maxPriceWei)
      problems.add("value_error", field, `a price must be 0 to ${maxPriceWei} wei of the chain's native token`);
  }
}

function checkTexts(problems: Problems, input: DeployCollectionInput): void {
  for (const field of ["name", "symbol"] as const)
    if (input[field] === "") problems.add("value_error", field, `the ${field} must not be empty`);
  const { name, symbol, baseUri, prerevealTokenUri } = input;
  checkTextTogether(problems, { name, symbol, baseUri, prerevealTokenUri });
}

/** Checks the texts of one request: each must be storable, and their total size is limited. */
export function checkTextTogether(problems: Problems, texts: Record<string, string | undefined>): void {
  let bytes = 0;
  for (const [field, text = ""] of Object.entries(texts)) {
    bytes += Buffer.byteLength(text);
    // Postgres cannot store NUL, and UTF-8 cannot encode a lone surrogate.
    if (!text.isWellFormed() || text.includes("\0"))
      problems.add("value_error", field, `the text of ${field} holds characters that cannot be stored`);
  }
  if (bytes > maxTextBytes) {
    const [first = "name"] = Object.keys(texts);
    problems.add("value_error", first, `${Object.keys(texts).join(", ")} must fit into ${maxTextBytes} bytes together`);
  }
}

export function startSeconds(problems: Problems, field: string, date: Date): bigint {
  const seconds = BigInt(Math.floor(date.getTime() / 1000));
  if (seconds < 1n || seconds > maxStart)
    problems.add("value_error", field, "a mint start must lie between 1970 and the year 36812");
  return seconds;
}

function checkPlan(problems: Problems, caller: Caller, chain: Chain, maxSupply: bigint): void {
  const plan = planOf(caller);
  if (chain.paidTierOnly && !plan.paidChains)
    problems.add("plan_limit_exceeded", "chain", `deploying on ${chain.name} needs a Growth or Scale key`);
  if (plan.maxSupply !== null && maxSupply > plan.maxSupply)
    problems.add("plan_limit_exceeded", "maxSupply", `a ${plan.tier} key deploys up to ${plan.maxSupply} tokens`);
}

/** @param sales starts in Unix seconds, 0 for no presale; the number of wallets on its list. */
export function warnOfSales(sales: { publicMintStart: bigint; presaleMintStart: bigint; listed: number }): string[] {
  const warnings: string[] = [];
  const presale = sales.presaleMintStart > 0n;
  if (presale && sales.presaleMintStart >= sales.publicMintStart)
    warnings.push("the presale starts no earlier than the public sale");
  if (presale && sales.listed === 0) warnings.push("the presale has a start but nobody on its list");
  if (!presale && sales.listed > 0) warnings.push("the presale list has wallets but the presale has no start");
  return warnings;
}

/** A token URI is the base URI followed directly by the id. */
export function warnOfBaseUri(baseUri = ""): string[] {
  if (baseUri === "" || baseUri.endsWith("/")) return [];
  return ["the base URI has no slash at its end: token URIs are the base URI and the id with nothing between"];
}

/** Most wallets read mixed case as a checksum (EIP-55); old clients send wrong ones, which are accepted. */
export function warnOfChecksums(addresses: Record<string, unknown>): string[] {
  const isWrong = (given: unknown) =>
    typeof given === "string" &&
    /[a-f]/.test(given) &&
    /[A-F]/.test(given) &&
    isAddress(given, { strict: false }) &&
    getAddress(given.toLowerCase()) !== given;
  return Object.entries(addresses).flatMap(([field, given]) =>
    isWrong(given) ? [`the checksum of ${field} is wrong: a typo?`] : [],
  );
}

/** Sends the payment in the simulation, which gives it the wei; it has no code. */
const payer: Address = `0x${"77".repeat(20)}`;

/** Simultaneous requests share a call to the node. */
const isContract = batched(
  async (services: Services, accounts: readonly { chain: Chain; address: Address }[]) => {
    const [first] = accounts;
    if (!first) return [];
    const asked = accounts.map(({ address }) => calls.code(address, "latest"));
    // Parsed inside, so that after an invalid answer the next endpoint is asked.
    return await services.relay.nodes(first.chain).first(async (node) => {
      const answers = await node.ask(asked);
      return answers.map((answer) => parseHex(answer, "an account's code") !== "0x");
    });
  },
  { most: 16, retryIndividually: false },
);

/**
 * Simulates a payment to a treasury that is a contract: fees go there for ever, and would be lost if it accepts no
 * payments. If no node answers, it passes: the deployment is simulated again before it is signed.
 *
 * @throws ServiceError `invalid_address` for a treasury that refuses a payment of one wei.
 */
export async function checkTreasury(services: Services, chain: Chain, treasury: string): Promise<void> {
  const to = lowerCase(treasury);
  try {
    if (!(await isContract(services, String(chain.id), { chain, address: to }))) return;
    await services
      .rpc(chain)
      .call({ account: payer, to, value: 1n, stateOverride: [{ address: payer, balance: 10n ** 18n }] });
  } catch (error) {
    const refused =
      error instanceof BaseError && error.walk((cause) => cause instanceof ExecutionRevertedError) !== null;
    if (!refused) return;
    throw new ServiceError(
      "invalid_address",
      "the treasury is a contract that refuses payments: fees could never be withdrawn",
      { field: "treasuryAddress" },
    );
  }
}
