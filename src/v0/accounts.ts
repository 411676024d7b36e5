import { listAccountContracts } from "../accounts/list-account-contracts.ts";
import { accountPage } from "../nfts/json-lists.ts";
import { listChainNfts } from "../nfts/list-chain-nfts.ts";
import type { Services } from "../services.ts";
import type { V0App } from "./app.ts";
import { Input } from "./input.ts";
import {
  addressParameter,
  chainParameter,
  includeParameter,
  pageParameters,
  queryOf,
  wordParameter,
  wordsParameter,
} from "./query.ts";
import { okRaw, rawList } from "./raw-json.ts";
import { contractBody, createdItemBody } from "./token-body.ts";
import { accountItemShape } from "./token-shape.ts";

export function addAccounts(app: V0App, services: Services): void {
  app.get("/accounts/contracts/:account_address", async (c) => {
    const query = queryOf(c);
    const input = Input.fromQuery(query);
    const chain = chainParameter(input, services.chains);
    const account = addressParameter(input, "account_address", c.req.param("account_address"));
    wordParameter(input, "type", ["owns_contract_nfts"]);
    const page = pageParameters(input);
    input.check();
    const found = await listAccountContracts(services, c.get("caller"), { chain, account, page });
    return okRaw(c, {
      contracts: found.items.map(({ node }) => ({
        ...contractBody(node.contract),
        address: node.contract.address,
        num_nfts_owned: Number(node.holdingCount),
      })),
      total: Number(found.total),
      continuation: found.continuation,
    });
  });

  app.get("/accounts/creators/:account_address", async (c) => {
    const query = queryOf(c);
    const input = Input.fromQuery(query);
    const chain = chainParameter(input, services.chains);
    const creator = addressParameter(input, "account_address", c.req.param("account_address"));
    const include = includeParameter(query, input, ["metadata", "contract_information"]);
    const page = pageParameters(input);
    input.check();
    const show = { metadata: include.has("metadata"), contract: include.has("contract_information") };
    const parts = { ...show, holders: true };
    const found = await listChainNfts(services, c.get("caller"), { chain, creator, page, parts });
    return okRaw(c, {
      nfts: found.items.map(({ node }) => createdItemBody(node, show)),
      continuation: found.continuation,
    });
  });

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
    const found = await accountPage(services, c.get("caller"), {
      chain,
      account,
      contract,
      exclude: [...exclude].map((word) => standards[word]),
      page,
      shape: accountItemShape(show),
      strictContract: false,
    });
    return okRaw(c, {
      nfts: rawList(found.items),
      total: Number(found.total),
      continuation: found.continuation,
    });
  });
}
