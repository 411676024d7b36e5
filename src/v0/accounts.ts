import { listAccountNfts } from "../accounts/list-account-nfts.ts";
import type { Services } from "../services.ts";
import type { V0App } from "./app.ts";
import { Input } from "./input.ts";
import {
  addressParameter,
  chainParameter,
  includeParameter,
  pageParameters,
  queryOf,
  wordsParameter,
} from "./query.ts";
import { okRaw } from "./raw-json.ts";
import { accountItemBody } from "./token-body.ts";

export function addAccounts(app: V0App, services: Services): void {
  app.get("/accounts/:account_address", async (c) => {
    const query = queryOf(c);
    const input = Input.fromQuery(query);
    const chain = chainParameter(input, services.chains);
    const account = addressParameter(input, "account_address", c.req.param("account_address"));
    const contract = input.address("contract_address");
    const include = includeParameter(query, input, ["metadata", "contract_information"]);
    const exclude = wordsParameter(query, input, "exclude", ["erc721", "erc1155"]);
    const page = pageParameters(input);
    input.check();

    const show = { metadata: include.has("metadata"), contract: include.has("contract_information") };
    const standards = { erc721: "ERC721", erc1155: "ERC1155" } as const;
    const found = await listAccountNfts(services, c.get("caller"), {
      chain,
      account,
      contract,
      exclude: [...exclude].map((word) => standards[word]),
      page,
      parts: show,
    });
    return okRaw(c, {
      nfts: found.items.map(({ node }) => accountItemBody(node, show)),
      total: Number(found.total),
      continuation: found.continuation,
    });
  });
}
