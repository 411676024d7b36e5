import { type Hex, parseTransaction } from "viem";
import type { Chain } from "../chains.ts";
import type { Services } from "../services.ts";
import { toAddress, toHex } from "./bytes.ts";
import { calls, parseQuantity } from "./chain-reads.ts";
import type { Node } from "./nodes.ts";
import { signChecked } from "./signer.ts";
import type { Attempt } from "./slots.ts";

/** The classic mistake, for the chaos run: "nonce too low" is believed, and the call is sent at another nonce. */
export async function sendWithNewNonce(services: Services, chain: Chain, node: Node, attempt: Attempt): Promise<void> {
  const sender = toAddress(attempt.addr);
  const signer = services.relay.signers(chain).find(({ address }) => address === sender);
  const [count] = await node.ask([calls.count(sender, "pending")]);
  if (!signer) return;
  const { to, data, gas, maxFeePerGas, maxPriorityFeePerGas } = parseTransaction(toHex(attempt.raw) as Hex);
  const { raw } = await signChecked(signer, {
    type: "eip1559",
    chainId: chain.id,
    nonce: Number(parseQuantity(count, "a count")),
    to: to ?? sender,
    data: data ?? "0x",
    value: 0n,
    gas: gas ?? 0n,
    maxFeePerGas: maxFeePerGas ?? 0n,
    maxPriorityFeePerGas: maxPriorityFeePerGas ?? 0n,
  });
  await node.ask([calls.send(raw)]);
}

const takenForOurs = new Set<string>();

/** "Underpriced" read as "I have a better one of yours", for the chaos run: nothing is sent any more. */
export function takeForOurs(attempt: Attempt): void {
  takenForOurs.add(attempt.hash.toString("hex"));
}

export function isTakenForOurs(attempt: Attempt): boolean {
  return takenForOurs.size > 0 && takenForOurs.has(attempt.hash.toString("hex"));
}
