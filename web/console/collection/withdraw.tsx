import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { formatEther, formatFee } from "../../shared/amounts.ts";
import { followTransaction } from "../../shared/follow-transaction.ts";
import { isRejection, type Wallet } from "../../shared/wallets.ts";
import { type Collection, requireBlock } from "../collections.ts";
import { type InstalledChain, useInstallation, useWallets } from "../installation.ts";
import { ErrorNotice } from "../notices.tsx";

/** Selector of `withdrawFees()`. */
const withdrawFees = "0x476343ee";

/** Sends what a collection took in to its treasury, by a wallet that is an admin of the collection. */
export function Withdraw({ collection }: { collection: Collection }) {
  const wallets = useWallets();
  const chain = useInstallation()?.chains.find(({ name }) => name === collection.chain);
  const [said, setSaid] = useState<string | null>(null);
  /** Ends the waiting for what was sent. */
  const [waits, setWaits] = useState<AbortController | null>(null);
  const client = useQueryClient();
  const withdraw = useMutation({
    mutationFn: async (wallet: Wallet) => {
      setSaid(null);
      try {
        if (!chain) throw new Error("This installation does not serve the collection's network.");
        const controller = new AbortController();
        setSaid(await withdrawWith(wallet, collection, chain, controller.signal, setSaid, () => setWaits(controller)));
        await client.invalidateQueries({ queryKey: ["figures"] });
      } catch (error) {
        setSaid(null);
        throw isRejection(error) ? new Error("You declined in your wallet. Nothing was sent.") : error;
      } finally {
        setWaits(null);
      }
    },
  });
  return (
    <div className="stack tight">
      <div className="row">
        {wallets
          .filter(({ local, id }) => !local || id === `local-${chain?.id}`)
          .map((wallet) => (
            <button type="button" key={wallet.id} disabled={withdraw.isPending} onClick={() => withdraw.mutate(wallet)}>
              Withdraw with {wallet.name}
            </button>
          ))}
      </div>
      {said && <p role="status">{said}</p>}
      {waits && (
        <p>
          <button type="button" onClick={() => waits.abort()}>
            Stop waiting
          </button>
        </p>
      )}
      <ErrorNotice error={withdraw.error} />
    </div>
  );
}

async function withdrawWith(
  { provider }: Wallet,
  collection: Collection,
  { id, coin }: InstalledChain,
  signal: AbortSignal,
  say: (text: string) => void,
  sent: () => void,
): Promise<string> {
  const { address: to } = collection;
  const ask = async <T,>(method: string, ...params: unknown[]) => (await provider.request({ method, params })) as T;
  const [from] = await ask<string[]>("eth_requestAccounts");
  if (Number(await ask<string>("eth_chainId")) !== id)
    await ask("wallet_switchEthereumChain", { chainId: `0x${id.toString(16)}` });
  const balance = BigInt(await ask<string>("eth_getBalance", to, "latest"));
  if (balance === 0n) return "There is nothing to withdraw.";
  const call = { from, to, data: withdrawFees };
  try {
    await ask("eth_call", call, "latest");
  } catch {
    throw new Error("This wallet is no admin of the collection. Use the owner's wallet.");
  }
  const [gas, price] = await Promise.all([ask<string>("eth_estimateGas", call), ask<string>("eth_gasPrice")]);
  const fee = `about ${formatFee(BigInt(gas) * BigInt(price))} ${coin} for the network`;
  say(`Confirm in your wallet: ${formatEther(balance)} ${coin} to the treasury; it costs ${fee}.`);
  const nonce = BigInt(await ask<string>("eth_getTransactionCount", from, "latest"));
  if (Number(await ask<string>("eth_chainId")) !== id)
    throw new Error("Your wallet went to another network. Nothing was sent.");
  const hash = await ask<string>("eth_sendTransaction", call);
  say(`Sent; waiting for a block. Transaction ${hash}`);
  sent();
  const way = { hash, from: from ?? "", nonce, chainId: id };
  const end = await followTransaction<{ status: string; blockNumber: string }>(provider, way, undefined, signal);
  if (end === "left")
    return `The transaction may still come into a block; the amounts above follow the chain. Transaction ${hash}`;
  if (end === "replaced")
    throw new Error(
      "Another transaction of this wallet took this one's place: you sped it up or cancelled it. Your wallet shows what became of it.",
    );
  if (end === "dropped")
    throw new Error("The network has dropped the transaction; the money is still in the contract. Withdraw again.");
  requireBlock(collection, BigInt(end.blockNumber));
  if (BigInt(end.status) !== 1n) throw new Error("The transaction failed; the money is still in the contract.");
  return `${formatEther(balance)} ${coin} are in the treasury. Transaction ${hash}`;
}
