import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors/errors.ts";
import { productRequests } from "../products/find-product.ts";
import { listMints, readMintedFacts } from "../products/lists.ts";
import { pendingError } from "../requests/progress.ts";
import { getRequest } from "../requests/requests.ts";
import type { Services } from "../services.ts";
import type { TokensPayload } from "../transactions/store/payloads.ts";
import { ok, okRaw, RawJson } from "./answer.ts";
import type { V0App } from "./app.ts";
import type { Input } from "./input.ts";
import { chainParameter, pageParameters, queryInput, queryOf } from "./query.ts";
import { naiveMicros, transactionMembers } from "./values.ts";

/** The account's mints: GET /mints/{hash}, /mints/batch/{hash}, /me/mints. */
export function addMinted(app: V0App, services: Services): void {
  app.get("/mints/batch/:hash", async (c) => {
    const { place, tokenIds } = await findMint(services, c.get("caller"), queryInput(c), c.req.param("hash"));
    return ok(c, { ...place, token_ids: tokenIds });
  });
  app.get("/mints/:hash", async (c) => {
    const { place, tokenIds } = await findMint(services, c.get("caller"), queryInput(c), c.req.param("hash"));
    return ok(c, { ...place, token_id: tokenIds[0] });
  });
  app.get("/me/mints", async (c) => {
    const input = queryInput(c);
    const chain = queryOf(c).get("chain") ? chainParameter(input, services.chains) : undefined;
    const { number: pageNumber, size: pageSize } = pageParameters(input);
    input.check();
    const caller = c.get("caller");
    const { nfts, total } = await listMints(services, caller, { chain, pageNumber, pageSize });
    const factsOf = await readMintedFacts(services, nfts);
    return okRaw(c, {
      total,
      minted_nfts: nfts.map(({ mint, token }) => {
        const { contractName, frozen, count } = factsOf(mint, token.tokenId);
        const { contractAsSent, type } = mint.payload as TokensPayload;
        const asked = chain ?? mint.chain.name;
        return {
          chain: asked,
          ...transactionMembers(mint, asked),
          contract_name: contractName,
          contract_address: contractAsSent,
          type,
          token_id: token.tokenId,
          mint_to_address: token.to,
          metadata_uri: token.uri ?? null,
          quantity: new RawJson(token.quantity ?? "1"),
          num_burned_or_transferred: new RawJson(String(count)),
          burned_transferred_amount: new RawJson(String(count)),
          metadata_frozen: frozen,
          mint_date: naiveMicros(mint.createdMicros),
        };
      }),
    });
  });
}

async function findMint(services: Services, caller: Caller, input: Input, hash: string) {
  const chain = chainParameter(input, services.chains);
  input.check();
  const request = await getRequest(services, caller, productRequests, { chain, hash });
  if (request.kind !== "mint") throw new ServiceError("not_found", "no mint of this account has this transaction hash");
  if (request.error !== null && !request.confirmed)
    throw new ServiceError("transaction_failed", `the transaction failed, and nothing was minted: ${request.error}`);
  if (!request.confirmed) throw await pendingError(services, request);
  const { contractAsSent, tokens } = request.payload as TokensPayload;
  return { place: { chain, contract_address: contractAsSent }, tokenIds: tokens.map(({ tokenId }) => tokenId) };
}
