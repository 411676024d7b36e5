import type { Movement, Token } from "./documents.ts";

// Names, traits and links are third parties' text: they go into the page as text, and links only where they are https.

function make(tag: string, text: string, ...children: Node[]): HTMLElement {
  const made = document.createElement(tag);
  made.textContent = text;
  made.append(...children);
  return made;
}

const short = (address: string) => `${address.slice(0, 6)}…${address.slice(-4)}`;

/** The copy of the service's own gateway where it has one; null where the link is none that a page may load. */
export function pictureOf({ cachedFileUrl, fileUrl }: Token, server: string): string | null {
  const link = cachedFileUrl ?? fileUrl ?? "";
  const ipfs = /^ipfs:\/\/(.+)$/.exec(link)?.[1];
  if (ipfs !== undefined) return `${server}/ipfs/${ipfs}`;
  return link.startsWith("https://") || link.startsWith(`${server}/`) ? link : null;
}

/** Pairs of a name and a value; documents without a list of attributes have none. */
function traitsOf(metadata: unknown): [name: string, value: string][] {
  const attributes = (metadata as { attributes?: unknown } | null)?.attributes;
  if (!Array.isArray(attributes)) return [];
  return attributes.flatMap((attribute: { trait_type?: unknown; value?: unknown } | null) =>
    typeof attribute?.trait_type === "string" ? [[attribute.trait_type, String(attribute.value)]] : [],
  );
}

export function showToken(token: Token, picture: string | null): HTMLElement {
  const title = token.name ?? `#${token.tokenId}`;
  const pairs = [...traitsOf(token.metadata), ["Owner", token.owner ? short(token.owner) : "nobody"] as const];
  const list = make("dl", "", ...pairs.flatMap(([name, value]) => [make("dt", name), make("dd", value)]));
  const card = make("li", "", make("h3", title), list);
  if (picture !== null) {
    const image = document.createElement("img");
    Object.assign(image, { src: picture, alt: title, loading: "lazy" });
    card.prepend(image);
  }
  return card;
}

const moved = "went to";
const words: Record<Movement["kind"], string> = {
  ...{ MINT: "minted to", BURN: "burned by" },
  ...{ TRANSFER: moved, TRANSFER_FROM: moved, TRANSFER_TO: moved },
};

export function showTransfer({ kind, tokenId, from, to, timestamp }: Movement): HTMLElement {
  const time = document.createElement("time");
  Object.assign(time, { dateTime: timestamp, textContent: new Date(timestamp).toLocaleString() });
  return make("li", `#${tokenId} ${words[kind]} ${short(kind === "BURN" ? from : to)}, `, time);
}
