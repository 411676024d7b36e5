import { formatEther } from "../../shared/amounts.ts";
import type { Collection } from "../collections.ts";
import { useCoin } from "../installation.ts";
import { OwnerTransaction } from "./owner-transaction.tsx";
import { useOwnerTransaction } from "./use-owner-transaction.ts";

/** Selector of `withdrawFees()`. */
const withdrawFees = "0x476343ee";

/** Sends a collection's revenue to its treasury. @param waits wei in the contract, as far as is known. */
export function Withdraw({ collection, waits }: { collection: Collection; waits: bigint }) {
  const coin = useCoin(collection.chain);
  const transaction = useOwnerTransaction(collection, async (ask) => {
    const wei = BigInt(await ask<string>("eth_getBalance", collection.address, "latest"));
    if (wei === 0n) return "There is nothing to withdraw.";
    const amount = `${formatEther(wei)} ${coin}`;
    return {
      data: withdrawFees,
      confirm: (fee) => `Confirm in your wallet: ${amount} to the treasury; it costs ${fee}.`,
      done: `${amount} are in the treasury.`,
      unchanged: "the money is still in the contract",
    };
  });
  return <OwnerTransaction transaction={transaction} word="Withdraw" disabled={waits === 0n} />;
}
