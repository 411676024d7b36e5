/** @jsxImportSource preact */
import type { Provider } from "../shared/wallets.ts";
import { Minted } from "./minted.tsx";
import type { Sale } from "./sale.ts";
import type { Progress } from "./send-mint.ts";

const steps = ["checking", "confirm", "sent", "done"] as const;
const words = { checking: "Check", confirm: "Confirm in your wallet", sent: "Sent", done: "In a block" };

/** The mint's progress, announced to screen readers as it changes. */
export function ProgressPanel({ progress, sale, provider }: { progress: Progress; sale: Sale; provider: Provider }) {
  const { step } = progress;
  return (
    <div aria-live="polite" class="stack">
      {step !== "idle" && step !== "refused" && (
        <ol class="steps">
          {steps.map((name, at) => (
            <li
              key={name}
              aria-current={name === step ? "step" : undefined}
              class={steps.indexOf(step) >= at ? "reached" : ""}
            >
              {words[name]}
            </li>
          ))}
        </ol>
      )}
      {step === "sent" && <p>Waiting for a block. You may close this page: the transaction goes on without it.</p>}
      {step === "refused" && (
        <p class="notice wrong" role="alert" data-refusal={progress.refusal.kind}>
          {progress.refusal.text}
        </p>
      )}
      {"hash" in progress && progress.hash && <Transaction hash={progress.hash} sale={sale} />}
      {step === "done" && <Minted {...progress} sale={sale} provider={provider} />}
    </div>
  );
}

function Transaction({ hash, sale }: { hash: string; sale: Sale }) {
  const base = sale.chain.explorer_tx_url;
  return (
    <p class="small quiet">
      Transaction{" "}
      {base && !sale.chain.local ? (
        <a href={`${base}/${hash}`} target="_blank" rel="noreferrer">
          <code>{hash}</code>
        </a>
      ) : (
        <code>{hash}</code>
      )}
    </p>
  );
}
