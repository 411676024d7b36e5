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
export async function storeDocument(client: Client, name: string): Promise<string> {
  const cid = (answer: { body: Record<string, unknown> }) => String(answer.body["ipfs_url"]).split("/").at(-1);
  const image = cid(await client.form("/files", [["file", new Blob([new Uint8Array(drawImage(7))]), "7.png"]]));
  const text = JSON.stringify({ name: `${name} key`, description: "Opens a page.", image: `ipfs://${image}` });
  return String(cid(await client.form("/files", [["file", new Blob([text]), "key.json"]])));
}

/** Deploys a collection over REST with a picture that the page can show. @returns its address once it stands. */
export async function deploySale(
  stack: Pick<LeasedStack, "ready">,
  owner: Address,
  options: SaleOptions = {},
): Promise<Address> {
  const { name = "Pages", supply = 20, perMint = 3, listed, publicIn = -3_600_000, presaleIn } = options;
  const client = new Client(stack.ready);
  const document = await storeDocument(client, name);
  const clock = await readClock(stack.ready.rpcUrl ?? "");
  const at = (ms: number) => new Date(clock + ms).toISOString();
  const { status, body } = await client.json("/contracts/collections", {
    ...{ chain: "goerli", name, symbol: "PAGE", max_supply: supply, tokens_per_mint: perMint },
    ...{ mint_price: 0.01, presale_mint_price: 0.005, owner_address: owner, treasury_address: owner },
    ...{ public_mint_start: at(publicIn), prereveal_token_uri: `ipfs://${document}` },
    ...(presaleIn === undefined ? {} : { presale_mint_start: at(presaleIn) }),
    ...(listed ? { presale_whitelisted_addresses: listed } : {}),
  });
  if (status !== 200) throw new Error(JSON.stringify(body));
  const path = `/contracts/${body["transaction_hash"]}?chain=goerli`;
  const { body: deployed } = await client.until(path, (answer) => answer.status === 200);
  return String(deployed["contract_address"]).toLowerCase() as Address;
}
