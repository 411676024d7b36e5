import { listAccountContracts } from "../accounts/list-account-contracts.ts";
import { listNewestOfEach } from "../nfts/list-nfts.ts";
import { single } from "../nfts/read-for-each.ts";
import type { Services } from "../services.ts";
import { okRead } from "./answer.ts";
import type { V0App } from "./app.ts";
import { accountRead } from "./fast-reads.ts";
import {
  addressParameter,
  chainParameter,
  includeParameter,
  pageParameters,
  queryInput,
  queryOf,
  wordParameter,
} from "./query.ts";
import { contractBody, createdItemBody } from "./token-shape.ts";

export function addAccounts(app: V0App, services: Services): void {
  app.get("/accounts/contracts/:account_address", async (c) => {
    const input = queryInput(c);
    const chain = chainParameter(input, services.chains);
    const account = addressParameter(input, "account_address", c.req.param("account_address"));
    wordParameter(input, "type", ["owns_contract_nfts"]);
    const page = pageParameters(input);
    input.check();
    const found = await listAccountContracts(services, c.get("caller"), { chain, account, page });
    return okRead(c, {
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
    const input = queryInput(c);
    const chain = chainParameter(input, services.chains);
    const creator = addressParameter(input, "account_address", c.req.param("account_address"));
    const include = includeParameter(input, ["metadata", "contract_information"]);
    const page = pageParameters(input);
    input.check();
    const show = { metadata: include.has("metadata"), contract: include.has("contract_information") };
    const parts = { ...show, holders: true };
    const found = single(await listNewestOfEach(services, c.get("caller"), { chain, page, parts }, [creator]));
    return okRead(c, {
      nfts: found.items.map(({ node }) => createdItemBody(node, show)),
      continuation: found.continuation,
    });
  });

  app.get("/accounts/:account_address", async (c) => {
    const read = accountRead(services, queryOf(c), c.req.param("account_address"));
    return okRead(c, await read(services, c.get("caller")));
  });
}
