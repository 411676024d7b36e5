import type { Address, Hex } from "viem";
import { operatorSelectors, readOperatorCall } from "./operator-calls.ts";
import type { Signer, SigningOrder } from "./signer.ts";

/** What the wallets of one chain may sign, as enforced by the holder of their keys. */
export interface SigningPolicy {
  chainId: number;
  /** Nothing is signed with a higher fee per gas. */
  maxFeeWei: bigint;
  /**
   * Factories that may be called, lower case. Null in the process that accepted the request: it has compared the
   * factory with the request's own.
   */
  factories: readonly Address[] | null;
  /** Operators of product contracts that may be called, lower case; null as for `factories`. */
  operators: readonly Address[] | null;
  /** All wallets of the chain here, lower case: only these can be given the right to deploy. */
  wallets: readonly Address[];
  /**
   * Whether role lists, and the end of the service's rights, are signed for product contracts. A caller can name any
   * contract, and these rights outlast anything done about it afterwards.
   */
  roles: boolean;
  /** Maximum cost of one day's transactions (UTC), in wei; null in the process that asks, which does not count. */
  dayWei: bigint | null;
}

/** Osaka's gas limit per transaction (EIP-7825); a reasonable bound for chains without it. */
export const maxTransactionGas = 16_777_216n;

/** `deploy(bytes32,address,bytes)` of the factory. */
export const deploySelector = "0x2781212e";
/** `updateConfig(…)` of a collection. */
export const updateSelector = "0xd761aa48";
/** `grantRole(bytes32,address)` of the factory. */
export const grantSelector = "0x2f2ff15d";
/** keccak256 of `RELAYER_ROLE`. */
export const relayerRole = "0xe2b7fb3b832174769106daebcfd6d1970523240dda11281102db9363b83b0dc4";

/** The reason of a refusal, where the caller can act on it. */
export type RefusalReason = "roles" | "day";

/** An order that the rules forbid. The text names the rule and contains no secret. */
export class SigningRefused extends Error {
  override readonly name = "SigningRefused";
  readonly reason: RefusalReason | null;

  constructor(why: string, reason: RefusalReason | null = null) {
    super(why);
    this.reason = reason;
  }
}

/**
 * The signing rules. Allowed are a deployment by a factory, a configuration update of a collection, a call of the
 * operator of product contracts, an empty transaction to the sender itself, and the right to deploy for another wallet
 * of this installation. No value, no other chain and no fee above the operator's cap, for any sender.
 *
 * @param admin the order came from an operator's command, which alone may grant roles.
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
      // The operator contract itself restricts the contracts that it acts on, and moves no money.
      if (!isOperator) deny(`${to} is no operator of this signer`);
      if (!(Object.values(operatorSelectors) as string[]).includes(selector)) deny(`call ${selector} of the operator`);
      for (const { name, known, handsOutRights } of actsOf(data as Hex)) {
        // A request's name is a UUID, left-padded.
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

/** A wallet that enforces the signing rules. @param admin its orders come from an operator's command. */
export function underRules(signer: Signer, policy: SigningPolicy, admin: boolean): Signer {
  return {
    ...signer,
    sign: async (order) => {
      checkOrder(policy, signer.address, order, admin);
      return await signer.sign(order);
    },
  };
}

/** Why a role list is not signed, and what changes that. */
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

/** The complete call that allows a wallet to deploy. */
function grantCall(wallet: Address): string {
  return `${grantSelector}${relayerRole.slice(2)}${wallet.slice(2).toLowerCase().padStart(64, "0")}`;
}
