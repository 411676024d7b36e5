import type { Hono } from "hono";
import type { AppEnv } from "../http/app-env.ts";
import type { Services } from "../services.ts";
import type { WebPages } from "./web-pages.ts";

/** `/console` and every page below it; what the browser has to know of this installation is `/console/installation.json`. */
export function addConsole(app: Hono<AppEnv>, services: Services, pages: WebPages): void {
  const { chains, config } = services;
  app.get("/console/installation.json", (c) =>
    c.json({
      chains: chains
        .filter(({ rpcUrls }) => rpcUrls.length > 0)
        .map(({ name, id, local, explorerTxUrl, factory }) => ({
          ...{ name, id, local, explorer_tx_url: explorerTxUrl || null },
          deploys: factory !== null,
        })),
      sign_up: config.signUpsPerHour > 0,
      public_url: config.publicUrl,
      limits: { file_bytes: config.limits.fileBytes, directory_files: config.limits.directoryFiles },
    }),
  );
  const head = { title: "Mintyard console", description: "Launch and watch NFT collections." };
  app.get("/console", async (c) => await pages.page(c, "console", head));
  app.get("/console/*", async (c) => await pages.page(c, "console", head));
}
