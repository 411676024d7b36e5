import type { Context } from "hono";
import { type RefreshMetadataInput, refreshMessages, refreshMetadata } from "../nfts/refresh-metadata.ts";
import type { Services } from "../services.ts";
import type { V0App, V0Env } from "./app.ts";
import { chainRead, contractRead, tokenRead } from "./fast-reads.ts";
import { Input } from "./input.ts";
import { chainParameter, queryOf, tokenIdParameter } from "./query.ts";
import { okRead } from "./raw-json.ts";

export function addNfts(app: V0App, services: Services): void {
  app.get("/nfts", async (c) => okRead(c, await chainRead(services, queryOf(c))(services, c.get("caller"))));

  app.get("/nfts/:contract_address", async (c) => {
    const query = queryOf(c);
    const contract = c.req.param("contract_address");
    const found = await contractRead(services, query, contract)(services, c.get("caller"));
    return okRead(c, { ...found, ...(await refreshBody(c, services, query, { contract })) });
  });

  app.get("/nfts/:contract_address/:token_id", async (c) => {
    const query = queryOf(c);
    const { contract_address: contract, token_id: token } = c.req.param();
    const found = await tokenRead(services, query, contract, token)(services, c.get("caller"));
    const tokenId = tokenIdParameter(Input.fromQuery(query), token);
    return okRead(c, { ...found, ...(await refreshBody(c, services, query, { contract, tokenId })) });
  });
}

/** Asks for the metadata to be read again when the request says so. */
async function refreshBody(
  c: Context<V0Env>,
  services: Services,
  query: URLSearchParams,
  key: Omit<RefreshMetadataInput, "chain">,
) {
  const input = Input.fromQuery(query);
  if (input.boolean("refresh_metadata") !== true) return {};
  const chain = chainParameter(input, services.chains);
  const status = await refreshMetadata(services, c.get("caller"), { chain, ...key });
  return { status, status_message: refreshMessages[status] };
}
