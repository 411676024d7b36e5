import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Address, createPublicClient, http } from "viem";
import { drawImage } from "../../bin/demo-images.ts";
import { Client } from "../setup/client.ts";
import type { LeasedStack } from "../setup/shared-stack.ts";

export interface SaleOptions {
  name?: string;
  supply?: number;
  perMint?: number;
  listed?: readonly string[];
  /** Milliseconds from now; negative: open since then. */
  publicIn?: number;
  presaleIn?: number;
  /** More members of the document that stands for all tokens. */
  document?: Record<string, unknown>;
  baseUri?: string;
}

/** What a start does beside it: here it has to be over before a page is opened. */
export async function buildPages(): Promise<void> {
  await promisify(execFile)(process.execPath, [join(import.meta.dirname, "../../bin/build-web.ts")]);
}

/** Milliseconds of the next block: a local chain's clock can be a minute behind, and ahead after many blocks. */
async function readClock(rpcUrl: string): Promise<number> {
  const chain = createPublicClient({ transport: http(rpcUrl) });
  return Number((await chain.getBlock({ blockTag: "pending" })).timestamp) * 1_000;
}

/** Stores a picture and the document of a token that is not revealed. @returns its CID, the same from every server. */
export async function storeDocument(client: Client, name: string, more: Record<string, unknown> = {}): Promise<string> {
  const image = await storeFile(client, "7.png", drawImage(7));
  const document = { name: `${name} key`, description: "Opens a page.", image: `ipfs://${image}`, ...more };
  return await storeFile(client, "key.json", JSON.stringify(document));
}

/** @returns its CID. */
export async function storeFile(client: Client, name: string, content: string | Uint8Array): Promise<string> {
  const bytes = new Blob([typeof content === "string" ? content : new Uint8Array(content)]);
  const { body } = await client.form("/files", [["file", bytes, name]]);
  return String(body["ipfs_url"]).split("/").at(-1) ?? "";
}

/** Deploys a collection over REST with a picture that the page can show. @returns its address once it stands. */
export async function deploySale(
  stack: Pick<LeasedStack, "ready">,
  owner: Address,
  options: SaleOptions = {},
): Promise<Address> {
  const { name = "Pages", supply = 20, perMint = 3, listed, publicIn = -3_600_000, presaleIn, baseUri } = options;
  const client = new Client(stack.ready);
  const document = await storeDocument(client, name, options.document);
  const clock = await readClock(stack.ready.rpcUrl ?? "");
  const at = (ms: number) => new Date(clock + ms).toISOString();
  const { status, body } = await client.json("/contracts/collections", {
    ...{ chain: "goerli", name, symbol: "PAGE", max_supply: supply, tokens_per_mint: perMint },
    ...{ mint_price: 0.01, presale_mint_price: 0.005, owner_address: owner, treasury_address: owner },
    ...{ public_mint_start: at(publicIn), prereveal_token_uri: `ipfs://${document}` },
    ...(baseUri === undefined ? {} : { base_uri: baseUri }),
    ...(presaleIn === undefined ? {} : { presale_mint_start: at(presaleIn) }),
    ...(listed ? { presale_whitelisted_addresses: listed } : {}),
  });
  if (status !== 200) throw new Error(JSON.stringify(body));
  const path = `/contracts/${body["transaction_hash"]}?chain=goerli`;
  const { body: deployed } = await client.until(path, (answer) => answer.status === 200);
  return String(deployed["contract_address"]).toLowerCase() as Address;
}
