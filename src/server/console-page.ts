import type { Hono } from "hono";
import { type Address, isAddress } from "viem";
import { getShownBalance, getTakings } from "../collections/takings.ts";
import { ServiceError } from "../errors/errors.ts";
import type { AppEnv } from "../http/app-env.ts";
import type { Services } from "../services.ts";
import { pageReader } from "./page-reader.ts";
import type { WebPages } from "./web-pages.ts";

/** `/console` and every page below it; what the browser has to know of this installation is `/console/installation.json`. */
export function addConsole(app: Hono<AppEnv>, services: Services, pages: WebPages): void {
  const { chains, config } = services;
  app.get("/console/installation.json", (c) =>
    c.json({
      chains: chains
        .filter(({ rpcUrls }) => rpcUrls.length > 0)
        .map(({ name, id, coin, local, explorerTxUrl, factory }) => ({
          ...{ name, id, coin, local, explorer_tx_url: explorerTxUrl || null },
          deploys: factory !== null,
        })),
      sign_up: config.signUpsPerHour > 0,
      public_url: config.publicUrl,
      limits: { file_bytes: config.limits.fileBytes, directory_files: config.limits.directoryFiles },
    }),
  );
  app.get("/console/balance/:chain/:address", async (c) => {
    const { chain, address } = c.req.param();
    if (!isAddress(address, { strict: false }))
      throw new ServiceError("invalid_address", "this is no address", { field: "address" });
    const reader = pageReader(services, c.env.incoming, chain);
    const wei = await getShownBalance(services, { chain, address: address.toLowerCase() as Address }, reader);
    return c.json({ wei: String(wei) }, 200, { "Cache-Control": "no-cache" });
  });
  app.get("/console/takings/:chain/:collection", async (c) => {
    const { chain, collection } = c.req.param();
    if (!isAddress(collection, { strict: false }))
      throw new ServiceError("invalid_address", "this is no address", { field: "collection" });
    const reader = pageReader(services, c.env.incoming, chain);
    const takings = await getTakings(services, { chain, collection: collection.toLowerCase() as Address }, reader);
    const { block, balanceWei, minted, reserved } = takings;
    const body = { block: String(block), balance_wei: String(balanceWei), minted: String(minted) };
    return c.json({ ...body, reserved: String(reserved) }, 200, { "Cache-Control": "no-cache" });
  });
  const head = { title: "Mintyard console", description: "Launch and watch NFT collections." };
  // One page at every path.
  const kept = pages.keep(() => "/console");
  app.get("/console", kept, async (c) => await pages.page(c, "console", head));
  app.get("/console/*", kept, async (c) => await pages.page(c, "console", head));
}
