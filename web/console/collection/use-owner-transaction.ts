import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { formatFee } from "../../shared/amounts.ts";
import { followTransaction } from "../../shared/follow-transaction.ts";
import { isRejection, type Wallet } from "../../shared/wallets.ts";
import { type Collection, requireBlock } from "../collections.ts";
import { type InstalledChain, useInstallation, useWallets } from "../installation.ts";

type Ask = <T>(method: string, ...params: unknown[]) => Promise<T>;

/** A call of the collection for its owner's wallet to send, with the messages about it. */
export interface OwnerCall {
  data: string;
  /** Shown while the wallet asks its owner. @param fee of the network, in words. */
  confirm: (fee: string) => string;
  done: string;
  /** What has not changed, for when the transaction fails. */
  unchanged: string;
}

/**
 * Sends a transaction on a collection with a wallet that is its admin, and follows it until it is in a block.
 *
 * @param prepare reads what the call needs through the wallet; returns a text instead of a call if nothing can be sent.
 */
export function useOwnerTransaction(collection: Collection, prepare: (ask: Ask) => Promise<OwnerCall | string>) {
  const chain = useInstallation()?.chains.find(({ name }) => name === collection.chain);
  const wallets = useWallets().filter(({ local, id }) => !local || id === `local-${chain?.id}`);
  const client = useQueryClient();
  const [said, setSaid] = useState<string | null>(null);
  const [isDone, setDone] = useState(false);
  const [waits, setWaits] = useState<AbortController | null>(null);
  const send = useMutation({
    mutationFn: async (wallet: Wallet) => {
      setSaid(null);
      setDone(false);
      try {
        if (!chain) throw new Error("This installation does not serve the collection's network.");
        const controller = new AbortController();
        const steps = { say: setSaid, sent: () => setWaits(controller), done: () => setDone(true) };
        setSaid(await sendWith(wallet, collection, chain, { prepare, steps, signal: controller.signal }));
        await client.invalidateQueries({ queryKey: ["figures"] });
      } catch (error) {
        setSaid(null);
        throw isRejection(error) ? new Error("You declined in your wallet. Nothing was sent.") : error;
      } finally {
        setWaits(null);
      }
    },
  });
  return {
    wallets,
    send: send.mutate,
    isPending: send.isPending,
    error: send.error,
    said,
    /** The transaction is in a block and succeeded. */
    isDone,
    /** Stops waiting for the transaction, but not the transaction; null while nothing is awaited. */
    leave: waits && (() => waits.abort()),
  };
}

interface Sending {
  prepare: (ask: Ask) => Promise<OwnerCall | string>;
  steps: { say: (text: string) => void; sent: () => void; done: () => void };
  signal: AbortSignal;
}

/** @returns the result. @throws Error worded for the owner. */
async function sendWith(
  { provider }: Wallet,
  collection: Collection,
  { id, coin }: InstalledChain,
  { prepare, steps, signal }: Sending,
): Promise<string> {
  const ask: Ask = async <T>(method: string, ...params: unknown[]) => (await provider.request({ method, params })) as T;
  const [from = ""] = await ask<string[]>("eth_requestAccounts");
  if (Number(await ask<string>("eth_chainId")) !== id)
    await ask("wallet_switchEthereumChain", { chainId: `0x${id.toString(16)}` });
  const prepared = await prepare(ask);
  if (typeof prepared === "string") return prepared;
  const call = { from, to: collection.address, data: prepared.data };
  try {
    await ask("eth_call", call, "latest");
  } catch {
    throw new Error("This wallet is no admin of the collection. Use the owner's wallet.");
  }
  const [gas, price] = await Promise.all([ask<string>("eth_estimateGas", call), ask<string>("eth_gasPrice")]);
  steps.say(prepared.confirm(`about ${formatFee(BigInt(gas) * BigInt(price))} ${coin} for the network`));
  const nonce = BigInt(await ask<string>("eth_getTransactionCount", from, "latest"));
  if (Number(await ask<string>("eth_chainId")) !== id)
    throw new Error("Your wallet went to another network. Nothing was sent.");
  const hash = await ask<string>("eth_sendTransaction", call);
  steps.say(`Sent; waiting for a block. Transaction ${hash}`);
  steps.sent();
  const way = { hash, from, nonce, chainId: id };
  const end = await followTransaction<{ status: string; blockNumber: string }>(provider, way, undefined, signal);
  if (end === "left")
    return `The transaction may still come into a block; the figures above follow the chain. Transaction ${hash}`;
  if (end === "replaced")
    throw new Error(
      "Another transaction of this wallet took this one's place: you sped it up or cancelled it. Your wallet shows what became of it.",
    );
  if (end === "dropped") throw new Error(`The network has dropped the transaction; ${prepared.unchanged}. Try again.`);
  requireBlock(collection, BigInt(end.blockNumber));
  if (BigInt(end.status) !== 1n) throw new Error(`The transaction failed; ${prepared.unchanged}.`);
  steps.done();
  return `${prepared.done} Transaction ${hash}`;
}
