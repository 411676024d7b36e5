import type { Input } from "../../../client/src/rest.ts";

/** An unfinished launch, stored in the browser, so that it can be resumed later. */
export interface Draft {
  step: number;
  chain: string;
  name: string;
  symbol: string;
  description: string;
  reserve: string;
  /** Whether metadata is shown only after a reveal. */
  hidden: boolean;
  price: string;
  presalePrice: string;
  perMint: string;
  /** A `datetime-local` value, in this browser's time zone. */
  publicStart: string;
  presaleStart: string;
  allowlist: string;
  owner: string;
  treasury: string;
  royalties: string;
  /** Set once the folder is stored. */
  supply: number;
  baseUri: string;
  placeholderUri: string;
  /** URI of the picture in it; empty without one. */
  placeholderImage: string;
  /** Makes repeated deployment requests one; stored before the request is sent. */
  idempotencyKey: string;
  /** The request may have been sent: it is repeated with its key until it is answered, and never replaced. */
  deploying: boolean;
  transactionHash: string;
  /** Sent by the creator's own wallet, so it has to be reported to the service. */
  byWallet: boolean;
}

/** A chain's clock can be behind this machine's: a sale that is to open at once gets a start this far in the past. */
const clockMs = 2 * 60_000;

function emptyDraft(): Draft {
  return {
    ...{ step: 0, chain: "", name: "", symbol: "", description: "", reserve: "0", hidden: false },
    ...{
      price: "0.01",
      presalePrice: "",
      perMint: "5",
      publicStart: localTime(new Date(Date.now() - clockMs)),
      presaleStart: "",
    },
    ...{ allowlist: "", owner: "", treasury: "", royalties: "5", supply: 0, baseUri: "" },
    ...{ placeholderUri: "", placeholderImage: "" },
    ...{ idempotencyKey: "", deploying: false, transactionHash: "", byWallet: false },
  };
}

/** In the format of a `datetime-local` input. */
export function localTime(date: Date): string {
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** @param kept the stored text, which others may have written; members that do not fit a draft are ignored. */
export function readDraft(kept: string | null): Draft {
  const empty = emptyDraft();
  let found: unknown;
  try {
    found = JSON.parse(kept ?? "null");
  } catch {
    return empty;
  }
  if (typeof found !== "object" || found === null) return empty;
  const known = Object.entries(found).filter(([member, value]) => typeof value === typeof empty[member as keyof Draft]);
  const draft: Draft = { ...empty, ...Object.fromEntries(known) };
  return { ...draft, step: [0, 1, 2, 3, 4].includes(draft.step) ? draft.step : 0 };
}

/** The deployment request, as `POST /v0/contracts/collections` takes it. */
export function requestOf(draft: Draft): Input<"post", "/v0/contracts/collections">["body"] {
  const time = (text: string) => new Date(text).toISOString();
  // Sent as text, which the server accepts for numbers too: JavaScript's numbers do not keep 18 decimals.
  const price = (text: string) => text.trim() as unknown as number;
  const { wallets } = readAllowlist(draft.allowlist);
  return {
    ...{ chain: draft.chain, name: draft.name.trim(), symbol: draft.symbol.trim(), max_supply: draft.supply },
    ...{ team_reserve: Number(draft.reserve), tokens_per_mint: Number(draft.perMint), mint_price: price(draft.price) },
    ...{ owner_address: draft.owner.trim(), treasury_address: (draft.treasury || draft.owner).trim() },
    ...{ public_mint_start: time(draft.publicStart), royalties_share: Math.round(Number(draft.royalties) * 100) },
    ...(draft.hidden ? { prereveal_token_uri: draft.placeholderUri } : { base_uri: draft.baseUri }),
    ...(draft.presaleStart === ""
      ? {}
      : {
          presale_mint_start: time(draft.presaleStart),
          presale_mint_price: price(draft.presalePrice || draft.price),
          presale_whitelisted_addresses: wallets,
        }),
  };
}

export interface ReadAllowlist {
  wallets: string[];
  duplicates: number;
  /** Rows without an address, with their line. */
  wrong: { line: number; text: string }[];
}

/** Wallets from pasted lines or a CSV file: the first address of each row. */
export function readAllowlist(text: string): ReadAllowlist {
  const wallets = new Map<string, string>();
  const wrong: ReadAllowlist["wrong"] = [];
  let duplicates = 0;
  for (const [at, row] of text.split(/\r?\n/).entries()) {
    if (row.trim() === "" || (at === 0 && /address|wallet/i.test(row) && !/0x/i.test(row))) continue;
    const address = /(?:^|[\s,;"'])(0x[0-9a-f]{40})(?=$|[\s,;"'])/i.exec(row)?.[1];
    if (!address) wrong.push({ line: at + 1, text: row.trim().slice(0, 80) });
    else if (wallets.has(address.toLowerCase())) duplicates += 1;
    else wallets.set(address.toLowerCase(), address);
  }
  return { wallets: [...wallets.values()], duplicates, wrong };
}
