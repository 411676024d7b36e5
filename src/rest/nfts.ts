import type { Context } from "hono";
import { ServiceError } from "../errors/errors.ts";
import { type RefreshMetadataInput, refreshMessages, refreshMetadata } from "../nfts/refresh-metadata.ts";
import { searchNfts } from "../nfts/search-nfts.ts";
import { reportUris, storageClasses, type UriKind } from "../nfts/uri-report.ts";
import type { Services } from "../services.ts";
import { ok, okRead } from "./answer.ts";
import type { V0App, V0Env } from "./app.ts";
import { chainRead, contractRead, tokenRead } from "./fast-reads.ts";
import { Input } from "./input.ts";
import { chainParameter, pageParameters, queryInput, queryOf, tokenIdParameter, wordParameter } from "./query.ts";
import { servedFileUrl } from "./token-shape.ts";
import { naiveSeconds } from "./values.ts";

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

/** Refreshes the metadata if the request says so. */
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

export function addSearch(app: V0App, services: Services): void {
  app.get("/search", async (c) => {
    const input = queryInput(c);
    const text = input.text("text", { required: true }) ?? "";
    const everywhere = (input.text("chain") ?? "all") === "all";
    const chain = everywhere ? "all" : chainParameter(input, services.chains);
    const orderBy = wordParameter(input, "order_by", ["relevance", "mint_date"]) ?? "relevance";
    const sortOrder = wordParameter(input, "sort_order", ["desc", "asc"]) ?? "desc";
    const contract = input.address("filter_by_contract_address");
    const { size, number = 1 } = pageParameters(input);
    input.check();
    const found = await searchNfts(services, c.get("caller"), {
      ...{ text, chain, contract, orderBy, descending: sortOrder === "desc", page: { size, number } },
    });
    return okRead(c, {
      search_results: found.map((nft) => ({
        chain: nft.chain,
        contract_address: nft.contractAddress,
        token_id: String(nft.tokenId),
        cached_file_url: nft.cachedFileUrl ?? servedFileUrl(nft.fileUrl, services.config.ipfs.gatewayBase),
        name: nft.name ?? "",
        description: nft.description ?? "",
        mint_date: nft.mintedAt === null ? null : naiveSeconds(BigInt(nft.mintedAt.getTime() / 1000)),
      })),
    });
  });
}

/** GET /reports/uris: how many of the tokens' URIs can be read. */
export function addReports(app: V0App, services: Services): void {
  app.get("/reports/:report_type", async (c) => {
    if (c.req.param("report_type") !== "uris")
      throw new ServiceError("invalid_enumeration", "report_type must be one of: uris", { field: "report_type" });
    const counts = await reportUris(services);
    const statsOf = (kind: UriKind) =>
      Object.fromEntries(
        storageClasses.map((storage) => {
          const found = counts.find((count) => count.kind === kind && count.storage === storage);
          return [
            storage,
            {
              count_failed: found?.failed ?? 0,
              count_successful: found?.successful ?? 0,
              // Members that only a marketplace could fill.
              floor_price_failed: 0,
              floor_price_successful: 0,
            },
          ];
        }),
      );
    return ok(c, {
      report: {
        metadata_uri_stats: statsOf("metadata"),
        image_uri_stats: statsOf("image"),
        animation_uri_stats: statsOf("animation"),
      },
    });
  });
}
