import { followTransaction } from "../shared/follow-transaction.ts";
import type { Provider } from "../shared/wallets.ts";
import { type MintCall, mintedTokens, quantity, type Receipt } from "./calls.ts";
import { lacking, type Refusal, refusalOf } from "./refusals.ts";

type Hex = `0x${string}`;

/** A mint's progress, as far as it is known. `done` only ever follows a receipt. */
export type Progress =
  | { step: "idle" }
  | { step: "checking" }
  | { step: "confirm" }
  | { step: "sent"; hash: Hex }
  | { step: "done"; hash: Hex; block: bigint; tokens: bigint[]; paid: bigint }
  | { step: "refused"; refusal: Refusal; hash?: Hex };

const pollMs = 1_000;

/**
 * Checks, sends and follows a mint through the visitor's own wallet.
 *
 * @param chain of the collection: answers of a wallet on another network are ignored.
 * @param report is called with each step; the last one is `done` or `refused`.
 */
export async function sendMint(
  provider: Provider,
  call: MintCall,
  chain: { id: number; coin: string },
  report: (progress: Progress) => void,
): Promise<void> {
  let hash: Hex | undefined;
  try {
    report({ step: "checking" });
    const missing = await missingFunds(provider, call);
    if (missing > 0n) return report({ step: "refused", refusal: lacking(missing, chain.coin) });
    // Finds reverts before they cost anything.
    await simulate(provider, call);
    const nonce = await quantity(provider, "eth_getTransactionCount", [call.from, "latest"]);
    // Since the visitor's click, the wallet may have gone to another network, where the address may be somebody else's.
    if (Number(await quantity(provider, "eth_chainId")) !== chain.id)
      return report({ step: "refused", refusal: elsewhere });
    report({ step: "confirm" });
    hash = (await provider.request({ method: "eth_sendTransaction", params: [call] })) as Hex;
    report({ step: "sent", hash });
    report(await follow(provider, call, { hash, from: call.from, nonce, chainId: chain.id }));
  } catch (error) {
    report({ step: "refused", refusal: refusalOf(error), ...(hash ? { hash } : {}) });
  }
}

const elsewhere: Refusal = {
  kind: "network",
  text: "Your wallet went to another network. Nothing was sent and nothing was paid.",
  again: true,
};

/** A sale's first block may come this long after its start. */
const openingMs = 15_000;

/**
 * A call on a sale that has just opened reverts as long as the newest block is older than its start. The pending block
 * decides then, if the node can simulate on it; otherwise this waits for the next block.
 */
async function simulate(provider: Provider, call: MintCall): Promise<void> {
  const run = (block: "latest" | "pending") => provider.request({ method: "eth_call", params: [call, block] });
  for (let waited = 0; ; waited += pollMs) {
    try {
      await run("latest");
      return;
    } catch (error) {
      if (refusalOf(error).kind !== "not-started") throw error;
      const opensNext = await run("pending").then(
        () => true,
        () => false,
      );
      if (opensNext) return;
      if (waited >= openingMs) throw error;
      await new Promise((done) => setTimeout(done, pollMs));
    }
  }
}

/** Wei that the wallet lacks for the price and, as far as a node reports it, for the fee. */
export async function missingFunds(provider: Provider, call: MintCall): Promise<bigint> {
  const [balance, price] = await Promise.all([
    quantity(provider, "eth_getBalance", [call.from, "latest"]),
    quantity(provider, "eth_gasPrice").catch(() => 0n),
  ]);
  const value = BigInt(call.value);
  if (balance < value) return value - balance + price * roughGas;
  const gas = await quantity(provider, "eth_estimateGas", [call]).catch(() => 0n);
  const needed = value + gas * price;
  return needed > balance ? needed - balance : 0n;
}

/** Gas of a mint of one token; only to say how much is missing when nothing can be estimated. */
const roughGas = 100_000n;

type Sent = Parameters<typeof followTransaction>[1] & { hash: Hex };

async function follow(provider: Provider, call: MintCall, sent: Sent): Promise<Progress> {
  const { hash } = sent;
  const end = await followTransaction<Receipt>(provider, sent);
  // The page offers no way to stop waiting; the visitor closes it instead.
  if (end === "left") return { step: "sent", hash };
  return end === "replaced" || end === "dropped" ? gone(end, hash) : ended(end, call, hash);
}

function ended(receipt: Receipt, call: MintCall, hash: Hex): Progress {
  const block = BigInt(receipt.blockNumber);
  if (BigInt(receipt.status) === 1n)
    return {
      ...{ step: "done", hash, block, paid: BigInt(call.value) },
      tokens: mintedTokens(receipt, call.to.toLowerCase() as Hex),
    };
  const text = `The transaction failed in block ${block}: the state of the sale changed while you signed. You paid the network's fee, not the price.`;
  return { step: "refused", hash, refusal: { kind: "failed", text, again: true } };
}

function gone(kind: "replaced" | "dropped", hash: Hex): Progress {
  const text =
    kind === "replaced"
      ? "Another transaction of this wallet took this one's place: you sped it up or cancelled it. Your wallet shows what became of it."
      : "The network has dropped the transaction. Nothing was paid. Your wallet may send it again.";
  return { step: "refused", hash, refusal: { kind, text, again: true } };
}
