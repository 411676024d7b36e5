import type { Context, Hono } from "hono";
import { type Address, isAddress } from "viem";
import { payAsKept } from "../admission/pay-for-work.ts";
import { getPublicSale, type PublicSale } from "../collections/public-sale.ts";
import { ServiceError } from "../errors/errors.ts";
import type { AppEnv } from "../http/app-env.ts";
import type { Services } from "../services.ts";
import { pageReader } from "./page-reader.ts";
import type { WebPages } from "./web-pages.ts";

/**
 * `/mint/{chain}/{collection}`: the page on which visitors mint; `…/sale`: what it shows, which needs no key. A link that
 * is shared shows the collection's own title and picture.
 */
export function addMintPage(app: Hono<AppEnv>, services: Services, pages: WebPages): void {
  app.get(
    "/mint/:chain/:collection",
    pages.keep(() => null),
    async (c) => {
      const sale = await saleOf(c, services);
      const { publicUrl } = services.config;
      return await pages.page(c, "mint", {
        title: `${sale.name} – mint`,
        description: sale.preview?.description ?? `${sale.maxSupply} tokens on ${sale.chain.name}.`,
        image: sale.preview?.image ? publicUrl + sale.preview.image : null,
        url: `${publicUrl}/mint/${sale.chain.name}/${sale.address}`,
      });
    },
  );
  app.get("/mint/:chain/:collection/sale", async (c) => {
    c.header("Cache-Control", "no-cache");
    const sale = await saleOf(c, services);
    payAsKept(services, c.env.incoming);
    return c.json(saleBody(sale));
  });
}

async function saleOf(c: Context<AppEnv>, services: Services): Promise<PublicSale> {
  const { chain = "", collection = "" } = c.req.param();
  if (!isAddress(collection, { strict: false }))
    throw new ServiceError("invalid_address", "the link has no contract's address", { field: "collection" });
  const reader = pageReader(services, c.env.incoming, chain);
  return await getPublicSale(services, { chain, collection: collection.toLowerCase() as Address }, reader);
}

/** Amounts and times as decimal strings. */
function saleBody(sale: PublicSale) {
  const text = (value: bigint | null) => (value === null ? null : String(value));
  const { chain } = sale;
  return {
    chain: {
      ...{
        name: chain.name,
        id: chain.id,
        coin: chain.coin,
        local: chain.local,
        explorer_tx_url: chain.explorerTxUrl || null,
      },
      // Endpoints of the service may have keys in them; a local chain's has none.
      wallet_rpc_url: chain.walletRpcUrl ?? (chain.local ? (chain.rpcUrls[0] ?? null) : null),
    },
    address: sale.address,
    name: sale.name,
    symbol: sale.symbol,
    max_supply: String(sale.maxSupply),
    minted: String(sale.minted),
    reserved: String(sale.reserved),
    tokens_per_mint: String(sale.tokensPerMint),
    public_price_wei: String(sale.publicPriceWei),
    presale_price_wei: String(sale.presalePriceWei),
    public_start: text(sale.publicStart),
    presale_start: text(sale.presaleStart),
    revealed: sale.baseUri !== "",
    block: String(sale.block),
    block_time: String(sale.blockTime),
    read_ms: sale.readAtMs,
    now_ms: Date.now(),
    deployed_here: sale.deployedHere,
    preview: sale.preview,
  };
}
