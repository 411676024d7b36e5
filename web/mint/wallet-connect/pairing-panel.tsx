/** @jsxImportSource preact */
import { useEffect, useState } from "preact/hooks";
import { encode } from "uqr";
import { isRejection, type Wallet } from "../../shared/wallets.ts";
import { isTouched } from "../touch.ts";
import { hasSession } from "./remembered.ts";
import type { Target } from "./session-provider.ts";
import { offerSession, type Pairing, restoreSession } from "./sessions.ts";

interface PairingProps {
  target: Target;
  connect(wallet: Wallet): Promise<void>;
  close(): void;
}

type Stage = { name: "opening" } | { name: "offered"; uri: string } | { name: "over"; why: string };

const words = {
  ended: "Your wallet has ended the connection of your last visit.",
  unreachable: "WalletConnect cannot be reached now.",
  declined: "You declined the connection in your wallet.",
  expired: "No wallet answered within five minutes: this code has expired.",
};

/**
 * Shows the pairing code for a wallet elsewhere, until the wallet connects or the visitor leaves. A session of an
 * earlier visit reconnects without it.
 */
export function PairingPanel({ target, connect, close }: PairingProps) {
  const [stage, setStage] = useState<Stage>({ name: "opening" });
  const [round, setRound] = useState(0);
  const { projectId, chainId, rpcUrl } = target;
  // biome-ignore lint/correctness/useExhaustiveDependencies: offered again when the visitor wants that
  useEffect(() => {
    let left = false;
    let pairing: Pairing | null = null;
    const show = (next: Stage) => !left && setStage(next);
    void (async () => {
      show({ name: "opening" });
      try {
        if (round === 0 && hasSession()) {
          const wallet = await restoreSession({ projectId, chainId, rpcUrl });
          if (left) return;
          return wallet ? await connect(wallet) : show({ name: "over", why: words.ended });
        }
        pairing = await offerSession({ projectId, chainId, rpcUrl });
      } catch {
        return show({ name: "over", why: words.unreachable });
      }
      if (left) return pairing.cancel();
      show({ name: "offered", uri: pairing.uri });
      try {
        const wallet = await pairing.wallet;
        pairing = null;
        await connect(wallet);
      } catch (error) {
        pairing = null;
        show({ name: "over", why: isRejection(error) ? words.declined : words.expired });
      }
    })();
    return () => {
      left = true;
      pairing?.cancel();
    };
  }, [round, projectId, chainId, rpcUrl]);
  return (
    <div class="notice stack" aria-live="polite">
      {stage.name === "opening" && <p>Connecting to WalletConnect…</p>}
      {stage.name === "offered" && <Offered uri={stage.uri} />}
      {stage.name === "over" && <p role="alert">{stage.why}</p>}
      <div class="row">
        {stage.name === "offered" && <Ways uri={stage.uri} />}
        {stage.name === "over" && (
          <button type="button" class="main" onClick={() => setRound(round + 1)}>
            Try again
          </button>
        )}
        <button type="button" onClick={close}>
          Cancel
        </button>
      </div>
    </div>
  );
}

/** Below this width the page is on a phone, whose camera cannot scan its own screen. */
const wideEnough = "(min-width: 40rem)";

function Offered({ uri }: { uri: string }) {
  const isWide = !isTouched() || matchMedia(wideEnough).matches;
  return (
    <>
      <p>
        {isWide ? "Scan this with your wallet's app." : "Open your wallet's app, or copy the code and paste it there."}{" "}
        It works for five minutes.
      </p>
      {isWide && <QrCode text={uri} />}
    </>
  );
}

/** Links for a wallet on this device, and the code as text for one that accepts it. */
function Ways({ uri }: { uri: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(uri);
    setCopied(true);
  };
  return (
    <>
      {isTouched() && (
        <a class="button main" href={uri}>
          Open in your wallet
        </a>
      )}
      {/* A page that is not served over HTTPS has no clipboard. */}
      {"clipboard" in navigator && (
        <button type="button" onClick={() => void copy()}>
          {copied ? "Copied" : "Copy the code"}
        </button>
      )}
    </>
  );
}

/** Dark on light in every theme, because many cameras read nothing else. */
function QrCode({ text }: { text: string }) {
  const { data, size } = encode(text, { border: 4 });
  const path = data.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : []))).join("");
  return (
    <svg width="264" height="264" viewBox={`0 0 ${size} ${size}`} role="img" aria-label="QR code of the connection">
      <path fill="#fff" d={`M0 0h${size}v${size}H0z`} />
      <path fill="#000" d={path} shape-rendering="crispEdges" />
    </svg>
  );
}
