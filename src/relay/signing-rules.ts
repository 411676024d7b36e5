import { type Address, type Hex, slice, toFunctionSelector } from "viem";
import type { Chain } from "../chains.ts";
import { toAddress } from "./bytes.ts";
import type { Intent } from "./intents.ts";

export interface Proposal {
  chainId: number;
  to: Address;
  data: Hex;
  value: bigint;
  gas: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

/** Osaka's limit for one transaction (EIP-7825); chains without it have it as a sane bound. */
export const maxTransactionGas = 16_777_216n;

export const deploySelector = toFunctionSelector("deploy(bytes32,address,bytes)");
export const updateSelector = toFunctionSelector(
  "updateConfig((string,bool,uint256,bool,uint256,bool,uint256,uint256,string,bytes32,uint256,address))",
);

/**
 * What the paying wallets may sign: nothing but a deployment by the intent's factory, a configuration
 * update of the intent's collection, or a transfer of nothing to oneself. No value, no foreign chain, no
 * fee over the operator's cap, whatever made the proposal.
 *
 * @throws Error naming the rule that it breaks.
 */
export function checkProposal(chain: Chain, intent: Intent, sender: Address, proposal: Proposal): void {
  const deny = (why: string) => {
    throw new Error(`signing refused for intent ${intent.id}: ${why}`);
  };
  if (proposal.chainId !== chain.id || intent.chain_id !== chain.id) deny("another chain");
  if (proposal.value !== 0n) deny("it moves money");
  if (proposal.gas > maxTransactionGas) deny("too much gas");
  if (proposal.maxFeePerGas > chain.relay.maxFeeWei) deny("its fee is over the cap");
  if (proposal.maxPriorityFeePerGas > proposal.maxFeePerGas) deny("its tip is over its fee");
  const to = proposal.to.toLowerCase();
  if (proposal.data === "0x") {
    if (to !== sender.toLowerCase()) deny("an empty call goes to oneself only");
    return;
  }
  const selector = slice(proposal.data, 0, 4);
  switch (intent.kind) {
    case "deploy":
      if (to !== toAddress(intent.factory)) deny("not the intent's factory");
      if (selector !== deploySelector) deny(`call ${selector} of the factory`);
      return;
    case "update":
      if (to !== toAddress(intent.predicted_addr)) deny("not the intent's collection");
      if (selector !== updateSelector) deny(`call ${selector} of a collection`);
      return;
  }
}
