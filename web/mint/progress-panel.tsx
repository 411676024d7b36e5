/** @jsxImportSource preact */
import { useEffect, useState } from "preact/hooks";
import { formatEther } from "../shared/amounts.ts";
import type { Provider } from "../shared/wallets.ts";
import { type Animation, findAnimation, ipfsPath } from "./animation.ts";
import { Artwork } from "./artwork.tsx";
import { readTokenUri } from "./calls.ts";
import type { Sale } from "./sale.ts";
import type { Progress } from "./send-mint.ts";

const steps = ["checking", "confirm", "sent", "done"] as const;
const words = { checking: "Check", confirm: "Confirm in your wallet", sent: "Sent", done: "In a block" };

/** Where the mint is: said to screen readers as it changes. */
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

interface MintedProps {
  tokens: readonly bigint[];
  block: bigint;
  /** Wei. */
  paid: bigint;
  sale: Sale;
  provider: Provider;
}

function Minted({ tokens, block, paid, sale, provider }: MintedProps) {
  return (
    <div class="notice good">
      <h2>{tokens.length === 1 ? "Here is your token" : `Here are your ${tokens.length} tokens`}</h2>
      <p class="small">
        Minted in block {block.toString()}. You paid{" "}
        {paid === 0n ? "nothing" : `${formatEther(paid)} ${sale.chain.coin}`} and the network's fee.
      </p>
      <ul class="tokens">
        {tokens.slice(0, 12).map((id) => (
          <Token key={String(id)} id={id} sale={sale} provider={provider} />
        ))}
      </ul>
    </div>
  );
}

function Token({ id, sale, provider }: { id: bigint; sale: Sale; provider: Provider }) {
  const [shown, setShown] = useState<{ name: string; image: string | null; animation: Animation | null }>({
    ...{ name: `${sale.name} #${id}`, image: sale.preview?.image ?? null, animation: null },
  });
  const { address } = sale;
  useEffect(() => {
    void (async () => {
      const path = ipfsPath(await readTokenUri(provider, address, id));
      if (!path) return;
      const document = (await fetch(path).then((answer) => answer.json())) as Record<string, unknown>;
      const { name, image, image_url: other, animation_url: animation } = document;
      const picture = image ?? other;
      setShown((before) => ({
        ...{ name: typeof name === "string" ? name : before.name, image: ipfsPath(picture) ?? before.image },
        animation: null,
      }));
      const moving = await findAnimation({ animation, picture });
      setShown((before) => ({ ...before, animation: moving }));
    })().catch(() => undefined);
  }, [id, address, provider]);
  return (
    <li>
      <Artwork {...shown} width={120} alt="" instead={`#${id}`} />
      <span>{shown.name}</span>
      <span class="small quiet">Token {String(id)}</span>
    </li>
  );
}
