import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors/errors.ts";
import { type ProductRequest, productRequests } from "../products/find-product.ts";
import { listMints, readMintedFacts } from "../products/lists.ts";
import { pendingError } from "../requests/progress.ts";
import { getRequest } from "../requests/requests.ts";
import type { Services } from "../services.ts";
import type { TokensPayload } from "../transactions/store/payloads.ts";
import { ok } from "./answer.ts";
import type { V0App } from "./app.ts";
import { naiveMicros } from "./dates.ts";
import { explorerUrl } from "./explorer-url.ts";
import { Input } from "./input.ts";
import { chainParameter, pageParameters, queryOf } from "./query.ts";
import { okRaw, RawJson } from "./raw-json.ts";

/** What the account has minted: GET /mints/{hash}, /mints/batch/{hash}, /me/mints. */
export function addMinted(app: V0App, services: Services): void {
  app.get("/mints/batch/:hash", async (c) => {
    const { request, chain } = await findMint(services, c.get("caller"), queryOf(c), c.req.param("hash"));
    const { contractAsSent, tokens } = request.payload as TokensPayload;
    return ok(c, { chain, contract_address: contractAsSent, token_ids: tokens.map(({ tokenId }) => tokenId) });
  });
  app.get("/mints/:hash", async (c) => {
    const { request, chain } = await findMint(services, c.get("caller"), queryOf(c), c.req.param("hash"));
    const { contractAsSent, tokens } = request.payload as TokensPayload;
    return ok(c, { chain, contract_address: contractAsSent, token_id: tokens[0]?.tokenId });
  });
  app.get("/me/mints", async (c) => {
    const query = queryOf(c);
    const input = Input.fromQuery(query);
    const chain = query.get("chain") ? chainParameter(input, services.chains) : undefined;
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
        const hash = mint.transactionHash;
        return {
          chain: chain ?? mint.chain.name,
          transaction_hash: hash,
          transaction_external_url: hash && explorerUrl(mint.chain, chain ?? mint.chain.name, hash),
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

async function findMint(
  services: Services,
  caller: Caller,
  query: URLSearchParams,
  hash: string,
): Promise<{ request: ProductRequest; chain: string }> {
  const input = Input.fromQuery(query);
  const chain = chainParameter(input, services.chains);
  input.check();
  const request = await getRequest(services, caller, productRequests, { chain, hash });
  if (request.kind !== "mint") throw new ServiceError("not_found", "no mint of this account has this transaction hash");
  if (request.confirmed) return { request, chain };
  if (request.error !== null)
    throw new ServiceError("transaction_failed", `the transaction failed, and nothing was minted: ${request.error}`);
  throw await pendingError(services, request);
}
