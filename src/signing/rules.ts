import type { Address, Hex } from "viem";
import { operatorSelectors, readOperatorCall } from "./operator-calls.ts";
import type { Signer, SigningOrder } from "./signer.ts";

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
  /**
   * Whether lists of roles, and the end of the service's rights, are signed for product contracts. Whoever asks for a signature
   * can name any contract, and those rights outlast whatever is done about it afterwards.
   */
  roles: boolean;
  /** What the transactions of one day (UTC) may cost at most, in wei; null where nobody counts: in the process that asks. */
  dayWei: bigint | null;
}

/** Osaka's limit for one transaction (EIP-7825); chains without it have it as a sane bound. */
export const maxTransactionGas = 16_777_216n;

/** `deploy(bytes32,address,bytes)` of the factory. */
export const deploySelector = "0x2781212e";
/** `updateConfig(…)` of a collection. */
export const updateSelector = "0xd761aa48";
/** `grantRole(bytes32,address)` of the factory. */
export const grantSelector = "0x2f2ff15d";
/** keccak256 of `RELAYER_ROLE`. */
export const relayerRole = "0xe2b7fb3b832174769106daebcfd6d1970523240dda11281102db9363b83b0dc4";

/** What a refusal is about, where whoever asked can do something with it. */
export type RefusalReason = "roles" | "day";

/** An order that the rules forbid. The text names the rule and holds no secret. */
export class SigningRefused extends Error {
  override readonly name = "SigningRefused";
  readonly reason: RefusalReason | null;

  constructor(why: string, reason: RefusalReason | null = null) {
    super(why);
    this.reason = reason;
  }
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
  const deny = (why: string, reason: RefusalReason | null = null) => {
    throw new SigningRefused(why, reason);
  };
  if (transaction.chainId !== policy.chainId) deny("another chain");
  if (transaction.value !== 0n) deny("it moves money");
  if (transaction.gas > maxTransactionGas) deny("too much gas");
  if (transaction.maxFeePerGas > policy.maxFeeWei) deny("its fee is over the cap");
  if (transaction.maxPriorityFeePerGas > transaction.maxFeePerGas) deny("its tip is over its fee");
  if (transaction.legacy && transaction.maxPriorityFeePerGas !== transaction.maxFeePerGas)
    deny("a legacy transaction has one price");
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
      for (const { name, known, handsOutRights } of actsOf(data as Hex)) {
        // A request's name is a UUID, padded in front.
        if (!/^0x0{32}[0-9a-f]{32}$/.test(name)) deny("its name is the one of no request");
        if (!known) deny("the operator calls nothing of a product contract but mints, updates, burns and transfers");
        if (handsOutRights && !policy.roles) deny(rolesRefused, "roles");
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

/** A wallet under the rules of signing. @param admin what it is asked for comes from an operator's command. */
export function underRules(signer: Signer, policy: SigningPolicy, admin: boolean): Signer {
  return {
    ...signer,
    sign: async (order) => {
      checkOrder(policy, signer.address, order, admin);
      return await signer.sign(order);
    },
  };
}

/** Why a list of roles is not signed, and what changes that. */
export const rolesRefused =
  "neither lists of roles nor the end of the service's rights are signed here (SIGN_ROLES_<CHAIN>)";

/** Why nothing more is signed today, and what changes that. */
export const dayRefused =
  "what the signer may sign in a day (UTC) has no room for it: wait for the next day, or raise SIGNER_DAY_<CHAIN> of the signer and restart it";

function actsOf(data: Hex) {
  try {
    return readOperatorCall(data);
  } catch {
    throw new SigningRefused("the call of the operator cannot be read");
  }
}

/** The whole call that lets a wallet deploy. */
function grantCall(wallet: Address): string {
  return `${grantSelector}${relayerRole.slice(2)}${wallet.slice(2).toLowerCase().padStart(64, "0")}`;
}
