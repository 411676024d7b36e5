import { type Address, decodeAbiParameters, type Hex, parseAbiParameters, toFunctionSelector } from "viem";
import type { SigningOrder } from "./signer.ts";

/** What the wallets of one chain may sign, in the eyes of whoever holds their keys. */
export interface SigningPolicy {
  chainId: number;
  /** Nothing is ever signed with a higher fee per gas. */
  maxFeeWei: bigint;
  /**
   * Factories that may be called, lower case. Null where the caller has compared the factory with the request's own:
   * in the process that accepted the request.
   */
  factories: readonly Address[] | null;
  /** Operators of product contracts that may be called, lower case; null as `factories`. */
  operators: readonly Address[] | null;
  /** All wallets of the chain here, lower case: the only ones that can be given the right to deploy. */
  wallets: readonly Address[];
}

/** Osaka's limit for one transaction (EIP-7825); chains without it have it as a sane bound. */
export const maxTransactionGas = 16_777_216n;

/** `deploy(bytes32,address,bytes)` of the factory. */
export const deploySelector = "0x2781212e";
/** `updateConfig(…)` of a collection. */
export const updateSelector = "0xd761aa48";
/** `grantRole(bytes32,address)` of the factory. */
export const grantSelector = "0x2f2ff15d";
/** What the operator of product contracts is called for: to deploy one, and to act on one. */
export const operatorSelectors = {
  deployERC721: "0x28cfc8db",
  deployERC1155: "0x65bcd503",
  execute: "0xa05aa016",
  executeBatch: "0x2daf1148",
} as const;
/** What the operator calls of a product contract for the service: nothing of its owner or roles. */
const productSelectors = new Set<Hex>(
  [
    "update((string,bool,bool,uint256,address),(bytes32,address[],bool)[],bool)",
    "updateTokenUri(uint256,string,bool)",
    "mintToCaller(address,uint256,string)",
    "mintByOwner(address,uint256,uint256,string)",
    "mintByOwnerBatch(address[],uint256[],uint256[],string[])",
    "transferByOwner(address,uint256)",
    "transferByOwner(address,uint256,uint256)",
    "transferByOwnerBatch(address[],uint256[],uint256[])",
    "burn(uint256)",
    "burn(uint256,uint256)",
    "burnBatch(uint256[],uint256[])",
  ].map((signature) => toFunctionSelector(signature)),
);
const executeParameters = parseAbiParameters("bytes32 intent, address target, bytes data");
const batchParameters = parseAbiParameters([
  "Call[] calls",
  "struct Call { bytes32 intent; address target; bytes data; }",
]);
/** keccak256 of `RELAYER_ROLE`. */
export const relayerRole = "0xe2b7fb3b832174769106daebcfd6d1970523240dda11281102db9363b83b0dc4";

/** An order that the rules forbid. The text names the rule and holds no secret. */
export class SigningRefused extends Error {
  override readonly name = "SigningRefused";
}

/**
 * The rules of signing: a deployment by a factory, a configuration update of a collection, a call of the operator of
 * product contracts, a transfer of nothing to oneself, or the right to deploy for another wallet of this installation. No value, no other chain, no fee over
 * the operator's cap, whoever asks.
 *
 * @param admin the order came from an operator's command, which alone may hand out roles.
 * @throws SigningRefused naming the rule that it breaks.
 */
export function checkOrder(policy: SigningPolicy, sender: Address, order: SigningOrder, admin = false): void {
  const { kind, transaction } = order;
  const deny = (why: string) => {
    throw new SigningRefused(why);
  };
  if (transaction.chainId !== policy.chainId) deny("another chain");
  if (transaction.value !== 0n) deny("it moves money");
  if (transaction.gas > maxTransactionGas) deny("too much gas");
  if (transaction.maxFeePerGas > policy.maxFeeWei) deny("its fee is over the cap");
  if (transaction.maxPriorityFeePerGas > transaction.maxFeePerGas) deny("its tip is over its fee");
  const to = transaction.to.toLowerCase() as Address;
  const data = transaction.data.toLowerCase();
  const selector = data.slice(0, 10);
  const isFactory = policy.factories?.includes(to) ?? true;
  const isOperator = policy.operators?.includes(to) ?? true;
  switch (kind) {
    case "cancellation":
      if (data !== "0x") deny("an empty call has no data");
      if (to !== sender.toLowerCase()) deny("an empty call goes to oneself only");
      return;
    case "deploy":
      if (!isFactory) deny(`${to} is no factory of this signer`);
      if (selector !== deploySelector) deny(`call ${selector} of the factory`);
      return;
    case "update":
      if (policy.factories?.includes(to) || policy.operators?.includes(to) || policy.wallets.includes(to))
        deny(`${to} is no collection`);
      if (selector !== updateSelector) deny(`call ${selector} of a collection`);
      return;
    case "operate":
      // Which contracts it acts on, and that no money moves, is bound by the operator itself.
      if (!isOperator) deny(`${to} is no operator of this signer`);
      if (!(Object.values(operatorSelectors) as string[]).includes(selector)) deny(`call ${selector} of the operator`);
      for (const { name, call } of namedCalls(selector, data)) {
        // A request's name is a UUID, padded in front.
        if (!/^0x0{32}[0-9a-f]{32}$/.test(name)) deny("its name is the one of no request");
        if (call !== null && !productSelectors.has(call.slice(0, 10) as Hex))
          deny("the operator calls nothing of a product contract but mints, updates, burns and transfers");
      }
      return;
    case "grant":
      if (!admin) deny("roles are given by the operator's own command only");
      if (!isFactory && !isOperator) deny(`${to} is neither a factory nor an operator of this signer`);
      if (!policy.wallets.some((wallet) => data === grantCall(wallet)))
        deny("roles are given to wallets of this signer only, and no other role than that of a relayer");
      return;
    default:
      deny(`unknown kind ${String(kind).slice(0, 20)}`);
  }
}

/** The names in a call of the operator, and what it calls of product contracts under each; null: it deploys one. */
function namedCalls(selector: string, data: string): readonly { name: string; call: Hex | null }[] {
  const bytes: Hex = `0x${data.slice(10)}`;
  try {
    if (selector === operatorSelectors.execute) {
      const [name, , call] = decodeAbiParameters(executeParameters, bytes);
      return [{ name, call }];
    }
    if (selector !== operatorSelectors.executeBatch) return [{ name: bytes.slice(0, 66), call: null }];
    const [calls] = decodeAbiParameters(batchParameters, bytes);
    if (calls.length > 0) return calls.map(({ intent, data: call }) => ({ name: intent, call }));
  } catch {}
  throw new SigningRefused("the call of the operator cannot be read");
}

/** The whole call that lets a wallet deploy. */
function grantCall(wallet: Address): string {
  return `${grantSelector}${relayerRole.slice(2)}${wallet.slice(2).toLowerCase().padStart(64, "0")}`;
}
