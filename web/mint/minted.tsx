/** @jsxImportSource preact */
import { useEffect, useState } from "preact/hooks";
import { formatEther } from "../shared/amounts.ts";
import { ipfsPath } from "../shared/ipfs-path.ts";
import type { Provider } from "../shared/wallets.ts";
import { type Animation, findAnimation } from "./animation.ts";
import { Artwork } from "./artwork.tsx";
import { readTokenUri } from "./calls.ts";
import type { Sale } from "./sale.ts";

interface MintedProps {
  tokens: readonly bigint[];
  block: bigint;
  /** Wei. */
  paid: bigint;
  sale: Sale;
  provider: Provider;
}

/** The result of a mint: the tokens, as they are in a block. */
export function Minted({ tokens, block, paid, sale, provider }: MintedProps) {
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
      <Share sale={sale} count={tokens.length} />
    </div>
  );
}

function Token({ id, sale, provider }: { id: bigint; sale: Sale; provider: Provider }) {
  const [shown, setShown] = useState<Shown>({
    // Before the reveal all tokens look alike; after it, the preview is another token's picture.
    ...{ name: `${sale.name} #${id}`, image: (sale.revealed ? null : sale.preview?.image) ?? null },
    ...{ animation: null, traits: [] },
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
        ...{ name: typeof name === "string" ? name.slice(0, 200) : before.name, image: ipfsPath(picture) },
        ...{ animation: null, traits: traitsOf(document["attributes"]) },
      }));
      const moving = await findAnimation({ animation, picture });
      setShown((before) => ({ ...before, animation: moving }));
    })().catch(() => undefined);
  }, [id, address, provider]);
  const { name, image, animation, traits } = shown;
  return (
    <li>
      <Artwork image={image} animation={animation} name={name} width={120} alt="" instead={`#${id}`} />
      <span>{name}</span>
      <span class="small quiet">Token {String(id)}</span>
      {traits.map(([trait, value]) => (
        <span key={trait} class="small">
          <span class="quiet">{trait}:</span> {value}
        </span>
      ))}
    </li>
  );
}

interface Shown {
  name: string;
  image: string | null;
  animation: Animation | null;
  traits: [name: string, value: string][];
}

const mostTraits = 8;

/** As marketplaces read them: a list of `trait_type` and `value`. Anything else in it is ignored. */
function traitsOf(attributes: unknown): Shown["traits"] {
  if (!Array.isArray(attributes)) return [];
  const traits = new Map<string, string>();
  for (const item of attributes.slice(0, 100) as ({ trait_type?: unknown; value?: unknown } | null)[]) {
    const { trait_type: name, value } = item ?? {};
    if (typeof name !== "string" || !["string", "number", "boolean"].includes(typeof value)) continue;
    if (traits.size < mostTraits) traits.set(name.slice(0, 40), String(value).slice(0, 60));
  }
  return [...traits];
}

/** Opens the device's share dialog with the page's link if there is one; else copies the link. */
function Share({ sale, count }: { sale: Sale; count: number }) {
  const [said, setSaid] = useState("");
  const url = location.origin + location.pathname;
  const text = `I minted ${count === 1 ? "a token" : `${count} tokens`} of ${sale.name}`;
  const share = async () => {
    if ("share" in navigator) return await navigator.share({ title: sale.name, text, url }).catch(() => undefined);
    await (navigator as Navigator).clipboard.writeText(`${text}: ${url}`);
    setSaid("Copied");
  };
  // A page that is not served over HTTPS can do neither.
  if (!("share" in navigator || "clipboard" in navigator)) return null;
  return (
    <p>
      <button type="button" onClick={() => void share()}>
        Share it
      </button>{" "}
      <span class="small" role="status">
        {said}
      </span>
    </p>
  );
}
