import { searchNfts } from "../nfts/search-nfts.ts";
import type { Services } from "../services.ts";
import type { V0App } from "./app.ts";
import { naiveSeconds } from "./dates.ts";
import { Input } from "./input.ts";
import { chainParameter, pageParameters, queryOf, wordParameter } from "./query.ts";
import { okRead } from "./raw-json.ts";
import { servedFileUrl } from "./token-body.ts";

export function addSearch(app: V0App, services: Services): void {
  app.get("/search", async (c) => {
    const input = Input.fromQuery(queryOf(c));
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
