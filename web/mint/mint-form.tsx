/** @jsxImportSource preact */
import { useEffect, useMemo, useState } from "preact/hooks";
import { formatEther, formatFee } from "../shared/amounts.ts";
import { mintCall } from "./calls.ts";
import { type Eligibility, eligibilityText, readEligibility } from "./eligibility.ts";
import { ProgressPanel } from "./progress-panel.tsx";
import type { Phase, Sale } from "./sale.ts";
import { type Progress, sendMint } from "./send-mint.ts";
import { useFee } from "./use-fee.ts";
import type { Connected } from "./use-wallet.ts";

/** How many, for how much, and the button. */
export function MintForm({ sale, phase, connected }: { sale: Sale; phase: Phase; connected: Connected }) {
  const [amount, setAmount] = useState(1);
  const [progress, setProgress] = useState<Progress>({ step: "idle" });
  const [list, setList] = useState<Eligibility | null>(null);
  const presaleOpen = phase.name === "presale" || (phase.name === "public" && phase.presaleToo);
  const wantsList = sale.presaleStart !== null;
  const done = progress.step === "done";
  const wallet = connected.account;
  const { chain, address, deployedHere } = sale;
  const target = useMemo(
    () => ({ chain: chain.name, collection: address, deployedHere }),
    [chain.name, address, deployedHere],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked anew when the presale opens, and after a mint uses it up
  useEffect(() => {
    if (!wantsList) return;
    let ended = false;
    let timer: ReturnType<typeof setTimeout>;
    const ask = () =>
      void readEligibility(target, wallet).then(
        (answer) => !ended && setList(answer),
        () => {
          // When a presale opens all visitors ask at once, and those behind one router are let through one after another.
          if (!ended) timer = setTimeout(ask, 3_000 + Math.random() * 12_000);
        },
      );
    // What the server says of the contract may be two seconds old.
    timer = setTimeout(ask, done ? 3_000 : 0);
    return () => {
      clearTimeout(timer);
      ended = true;
    };
  }, [target, wallet, wantsList, presaleOpen, done]);

  const listed = presaleOpen && list?.eligible === true && list.proof !== null;
  const open = phase.name === "public" || listed;
  const price = listed ? sale.presalePrice : sale.publicPrice;
  const most = Math.min(Number(sale.perMint), Number(sale.left));
  const count = Math.min(amount, Math.max(most, 1));
  const cost = price * BigInt(count);
  const busy = progress.step === "checking" || progress.step === "confirm" || progress.step === "sent";
  const unit = sale.chain.coin;

  const proof = listed ? (list?.proof ?? []) : null;
  const call = mintCall(wallet, sale.address, BigInt(count), cost, proof);
  const { provider } = connected.wallet;
  const fee = useFee(provider, open && !busy ? call : null);
  return (
    <>
      {wantsList && list && <p class={list.eligible ? "notice" : "quiet"}>{eligibilityText(list)}</p>}
      {phase.name === "sold-out" && <p class="notice">All tokens of this sale are minted.</p>}
      {phase.name === "never" && <p class="notice">This collection has no sale.</p>}
      {phase.name === "presale" && !listed && <p class="notice warn">Only listed wallets can mint in the presale.</p>}
      {open && (
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            void sendMint(provider, call, unit, setProgress);
          }}
        >
          <div class="row apart">
            <label>
              How many
              <span class="hint">
                up to {most} in one mint{listed ? "; a wallet has one presale mint" : ""}
              </span>
              <input
                type="number"
                inputMode="numeric"
                min={1}
                max={most}
                value={count}
                disabled={busy}
                onInput={(event) => setAmount(Math.max(1, Math.floor(Number(event.currentTarget.value)) || 1))}
              />
            </label>
            <p class="price">
              <strong title={`${cost} wei`}>{cost === 0n ? "free" : `${formatEther(cost)} ${unit}`}</strong>
              <span class="small quiet">
                {fee === null ? (
                  "and the network's fee"
                ) : (
                  <span title={`${fee} wei`}>
                    and about {formatFee(fee)} {unit} for the network
                  </span>
                )}
              </span>
            </p>
          </div>
          <button type="submit" class="main" disabled={busy}>
            {busy ? "Minting…" : `Mint ${count}`}
          </button>
        </form>
      )}
      <ProgressPanel progress={progress} sale={sale} provider={provider} />
    </>
  );
}
