import type { Animation } from "./animation.ts";

/** The answer of `/mint/{chain}/{collection}/sale`; amounts and times are decimal strings. */
interface SaleBody {
  chain: {
    name: string;
    id: number;
    coin: string;
    local: boolean;
    explorer_tx_url: string | null;
    wallet_rpc_url: string | null;
  };
  address: `0x${string}`;
  name: string;
  symbol: string;
  max_supply: string;
  minted: string;
  reserved: string;
  tokens_per_mint: string;
  public_price_wei: string;
  presale_price_wei: string;
  public_start: string | null;
  presale_start: string | null;
  revealed: boolean;
  owner: string;
  treasury: string;
  royalties_bps: string;
  metadata_frozen: boolean;
  prices_frozen: boolean;
  block: string;
  block_time: string;
  wallet_connect: { project_id: string } | null;
  /** When the chain was asked, and the current time, by the server's clock. */
  read_ms: number;
  now_ms: number;
  deployed_here: boolean;
  preview: {
    name: string | null;
    description: string | null;
    image: string | null;
    animation: Animation | null;
    /** Whether the animation is a web page, which this page does not show. */
    interactive: boolean;
  } | null;
}

export interface Sale {
  chain: SaleBody["chain"];
  address: `0x${string}`;
  name: string;
  maxSupply: bigint;
  minted: bigint;
  /** Neither minted nor reserved. */
  left: bigint;
  perMint: bigint;
  publicPrice: bigint;
  presalePrice: bigint;
  /** Unix seconds; a sale is open in blocks after this time. */
  publicStart: number | null;
  presaleStart: number | null;
  preview: SaleBody["preview"];
  deployedHere: boolean;
  /** Whether the tokens already show their own pictures. */
  revealed: boolean;
  owner: string;
  /** The recipient of the sale's money, which can never change. */
  treasury: string;
  royaltiesBps: number;
  metadataFrozen: boolean;
  pricesFrozen: boolean;
  /** Wallets can also connect by WalletConnect, and the chain is then read from this endpoint. */
  walletConnect: { projectId: string; chainId: number; rpcUrl: string } | null;
  block: bigint;
  /** Milliseconds by which the chain's clock is ahead of this machine's. */
  clockAhead: number;
}

/** An error answer of the server; `lasting` means that asking again will not help. */
export class SaleUnknown extends Error {
  readonly lasting: boolean;
  constructor(message: string, lasting: boolean) {
    super(message);
    this.lasting = lasting;
  }
}

/** Without a block for so long, a chain has stopped and is no clock. A local chain's time is not from a block. */
const idleMs = 60_000;

/** @throws SaleUnknown with the server's words; TypeError when it cannot be reached. */
export async function readSale(path: string): Promise<Sale> {
  const response = await fetch(`${path}/sale`);
  const body = (await response.json()) as SaleBody & { error?: { message: string } };
  if (!response.ok) throw new SaleUnknown(body.error?.message ?? "the server refused to answer", response.status < 429);
  const { id: chainId, wallet_rpc_url: rpcUrl } = body.chain;
  const seconds = (text: string | null) => (text === null ? null : Number(text));
  const [maxSupply, minted, reserved] = [BigInt(body.max_supply), BigInt(body.minted), BigInt(body.reserved)];
  const blockAhead = Number(body.block_time) * 1000 - body.read_ms;
  return {
    chain: body.chain,
    address: body.address,
    name: body.name,
    maxSupply,
    minted,
    left: maxSupply - minted - reserved,
    perMint: BigInt(body.tokens_per_mint),
    publicPrice: BigInt(body.public_price_wei),
    presalePrice: BigInt(body.presale_price_wei),
    publicStart: seconds(body.public_start),
    presaleStart: seconds(body.presale_start),
    preview: body.preview,
    deployedHere: body.deployed_here,
    revealed: body.revealed,
    owner: body.owner,
    treasury: body.treasury,
    royaltiesBps: Number(body.royalties_bps),
    metadataFrozen: body.metadata_frozen,
    pricesFrozen: body.prices_frozen,
    walletConnect:
      body.wallet_connect && rpcUrl ? { projectId: body.wallet_connect.project_id, chainId, rpcUrl } : null,
    block: BigInt(body.block),
    clockAhead: body.now_ms - Date.now() + (blockAhead < -idleMs && !body.chain.local ? 0 : blockAhead),
  };
}

/**
 * Block times lag by up to a block, so the largest lead seen is the most accurate.
 *
 * @param before an earlier answer.
 */
export function keepClock(sale: Sale, before: Sale | null): Sale {
  return before === null ? sale : { ...sale, clockAhead: Math.max(sale.clockAhead, before.clockAhead) };
}

export type Phase =
  | { name: "sold-out" | "never" }
  | { name: "before"; opens: number; what: "presale" | "public sale" }
  | { name: "presale"; publicOpens: number | null }
  | { name: "public"; presaleToo: boolean };

/** @param now by the chain's clock, Unix milliseconds. */
export function phaseOf(sale: Sale, now: number): Phase {
  if (sale.left <= 0n) return { name: "sold-out" };
  // The contract requires a block after the second that is set.
  const open = (start: number | null) => start !== null && now / 1000 >= start + 1;
  const [publicOpen, presaleOpen] = [open(sale.publicStart), open(sale.presaleStart)];
  if (publicOpen) return { name: "public", presaleToo: presaleOpen };
  if (presaleOpen) return { name: "presale", publicOpens: sale.publicStart };
  const starts = [
    { opens: sale.presaleStart, what: "presale" as const },
    { opens: sale.publicStart, what: "public sale" as const },
  ].flatMap(({ opens, what }) => (opens === null ? [] : [{ opens, what }]));
  const [first] = starts.sort((one, other) => one.opens - other.opens);
  return first ? { name: "before", ...first } : { name: "never" };
}

/** A token's price in wei for an unknown visitor: in or before a presale, the price for its list. */
export function priceOf(sale: Sale, phase: Phase): bigint {
  const isPresale = phase.name === "presale" || (phase.name === "before" && phase.what === "presale");
  return isPresale ? sale.presalePrice : sale.publicPrice;
}

/** `2 d 3 h`, `4 min 05 s`: two units, enough to know whether to wait. */
export function formatWait(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3_600), Math.floor(seconds / 60)];
  if (days > 0) return `${days} d ${hours % 24} h`;
  if (hours > 0) return `${hours} h ${minutes % 60} min`;
  if (minutes > 0) return `${minutes} min ${String(seconds % 60).padStart(2, "0")} s`;
  return `${seconds} s`;
}
