import type { Hono } from "hono";
import { findChain } from "../chains.ts";
import { askLocalWallet } from "../collections/local-wallet.ts";
import { ServiceError } from "../errors/errors.ts";
import type { AppEnv } from "../http/app-env.ts";
import { readBody } from "../rest/json-body.ts";
import type { Services } from "../services.ts";
import { isSameOrigin } from "./session-cookie.ts";

const bodyBytes = 262_144;

/**
 * `/local-wallet/{chain}`: a wallet with test ether for the pages of an installation on local chains, so that a newcomer
 * needs no browser extension. On any other chain it does not exist.
 */
export function addLocalWallet(app: Hono<AppEnv>, services: Services): void {
  app.post("/local-wallet/:chain", async (c) => {
    if (!isSameOrigin(services, c.env.incoming)) throw new ServiceError("not_found", "nothing is served here");
    const chain = findChain(services.chains, c.req.param("chain"));
    const text = await readBody(c.env.incoming, bodyBytes);
    return c.json(await askLocalWallet(services, chain, text));
  });
}
