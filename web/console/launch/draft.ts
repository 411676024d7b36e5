import type { Input } from "../../../client/src/rest.ts";

/** A launch that is not done yet: kept by the browser, so that it can be left and taken up again. */
export interface Draft {
  step: number;
  chain: string;
  name: string;
  symbol: string;
  description: string;
  reserve: string;
  /** Metadata is shown at once, or after a reveal. */
  hidden: boolean;
  price: string;
  presalePrice: string;
  perMint: string;
  /** `datetime-local`, of this browser's zone. */
  publicStart: string;
  presaleStart: string;
  allowlist: string;
  owner: string;
  treasury: string;
  royalties: string;
  /** Once the folder is stored. */
  supply: number;
  baseUri: string;
  placeholderUri: string;
  /** URI of the picture in it; empty without one. */
  placeholderImage: string;
  /** What makes two deployments one; it is here before the request leaves. */
  idempotencyKey: string;
  /** The request may have left: it is sent again with its key until its answer is here, and never made anew. */
  deploying: boolean;
  transactionHash: string;
  /** A wallet of the creator's sent it, so the service has to be told. */
  byWallet: boolean;
}

/** A chain's clock can be behind this machine's: a sale that is to open at once opened that long ago. */
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

/** As an input of type `datetime-local` has it. */
export function localTime(date: Date): string {
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** @param kept as the browser has it, which others may have written; what is no draft is passed over, member by member. */
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

/** What the deployment asks for, as `POST /v0/contracts/collections` takes it. */
export function requestOf(draft: Draft): Input<"post", "/v0/contracts/collections">["body"] {
  const time = (text: string) => new Date(text).toISOString();
  // The server takes numbers as texts too, and those of JavaScript do not keep 18 decimals.
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
  /** Rows that are no address, with their line. */
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
