/** @jsxImportSource preact */
import { useState } from "preact/hooks";
import { formatEther, formatFee, formatTotal } from "../shared/amounts.ts";
import { mintCall } from "./calls.ts";
import { eligibilityText } from "./eligibility.ts";
import { ProgressPanel } from "./progress-panel.tsx";
import { Quantity } from "./quantity.tsx";
import { type Phase, priceOf, type Sale } from "./sale.ts";
import { type Progress, sendMint } from "./send-mint.ts";
import { useEligibility } from "./use-eligibility.ts";
import { useForecast, useRoughFee } from "./use-fee.ts";
import type { WalletState } from "./use-wallet.ts";
import { WalletPanel } from "./wallet-panel.tsx";

interface OfferProps {
  sale: Sale;
  phase: Phase;
  wallet: WalletState;
  /** How many tokens the visitor wants; kept when a wallet connects. */
  amount: number;
  setAmount: (amount: number) => void;
}

/** The cost of a mint for everybody; the button too, for a wallet on the right network. */
export function Offer({ sale, phase, wallet, amount, setAmount }: OfferProps) {
  const [progress, setProgress] = useState<Progress>({ step: "idle" });
  const connected = wallet.connected?.chainId === sale.chain.id ? wallet.connected : null;
  const presaleOpen = phase.name === "presale" || (phase.name === "public" && phase.presaleToo);
  const account = connected?.account ?? null;
  const list = useEligibility(sale, account, { open: presaleOpen, done: progress.step === "done" });
  const listed = presaleOpen && list?.eligible === true && list.proof !== null;
  const open = phase.name === "public" || listed;
  const sells = phase.name !== "sold-out" && phase.name !== "never";
  const most = Math.max(1, Math.min(Number(sale.perMint), Number(sale.left)));
  const count = Math.min(amount, most);
  const price = account === null ? priceOf(sale, phase) : listed ? sale.presalePrice : sale.publicPrice;
  const cost = price * BigInt(count);
  const busy = progress.step === "checking" || progress.step === "confirm" || progress.step === "sent";
  const unit = sale.chain.coin;
  const proof = listed ? (list?.proof ?? []) : null;
  const call = account && mintCall(account, sale.address, BigInt(count), cost, proof);
  const provider = connected?.wallet.provider ?? null;
  const forecast = useForecast(provider, open && !busy ? call : null, unit);
  const roughFee = useRoughFee(wallet.wallets, sale.chain.id, count, sells && account === null);
  // After a try, its own result says more.
  const refusal = progress.step === "idle" ? forecast.refusal : null;
  return (
    <form
      class="card stack"
      aria-label="Mint"
      onSubmit={(event) => {
        event.preventDefault();
        if (provider && call && open) void sendMint(provider, call, sale.chain, setProgress);
      }}
    >
      <Refusals sale={sale} phase={phase} connected={account !== null} listed={listed} />
      {list && <p class={list.eligible ? "notice good" : "quiet"}>{eligibilityText(list)}</p>}
      {sells && progress.step !== "done" && (
        <>
          <Quantity count={count} most={most} busy={busy} once={listed} change={setAmount} />
          <Sum sale={sale} count={count} cost={cost} fee={forecast.fee ?? roughFee} />
        </>
      )}
      <WalletPanel sale={sale} wallet={wallet} />
      {refusal && <p class="notice warn">{refusal.text}</p>}
      {open && account && progress.step !== "done" && (
        <button type="submit" class="main" disabled={busy}>
          {busy ? "Minting…" : `Mint ${count}`}
        </button>
      )}
      {provider && <ProgressPanel progress={progress} sale={sale} provider={provider} />}
      {open && progress.step === "done" && (
        <button type="button" onClick={() => setProgress({ step: "idle" })}>
          Mint more
        </button>
      )}
    </form>
  );
}

/** Why nobody, or not everybody, can mint now; shown before a wallet is asked for anything. */
function Refusals({ phase, connected, listed }: { sale: Sale; phase: Phase; connected: boolean; listed: boolean }) {
  if (phase.name === "sold-out") return <p class="notice">All tokens of this sale are minted.</p>;
  if (phase.name === "never") return <p class="notice">This collection has no sale.</p>;
  if (phase.name !== "presale" || listed) return null;
  return (
    <p class="notice warn">
      Only listed wallets can mint in the presale.{connected ? "" : " Connect yours to see whether it is on the list."}
    </p>
  );
}

/** The tokens' price, the network's fee and their sum. */
function Sum({ sale, count, cost, fee }: { sale: Sale; count: number; cost: bigint; fee: bigint | null }) {
  const unit = sale.chain.coin;
  return (
    <dl class="sum">
      <dt>{count === 1 ? "1 token" : `${count} tokens`}</dt>
      <dd>
        <span title={`${cost} wei`}>{cost === 0n ? "free" : `${formatEther(cost)} ${unit}`}</span>
      </dd>
      <dt>Network's fee</dt>
      <dd>
        {fee === null ? "your wallet says it" : <span title={`${fee} wei`}>{`about ${formatFee(fee)} ${unit}`}</span>}
      </dd>
      <dt class="total">Total</dt>
      <dd class="total">
        {fee === null ? `${formatEther(cost)} ${unit} and the fee` : `about ${formatTotal(cost, fee)} ${unit}`}
      </dd>
    </dl>
  );
}
