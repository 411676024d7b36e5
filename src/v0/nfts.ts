import type { Context } from "hono";
import { getNft } from "../nfts/get-nft.ts";
import { listChainNfts } from "../nfts/list-chain-nfts.ts";
import { listContractNfts } from "../nfts/list-contract-nfts.ts";
import { type RefreshMetadataInput, refreshMessages, refreshMetadata } from "../nfts/refresh-metadata.ts";
import type { Services } from "../services.ts";
import type { V0App, V0Env } from "./app.ts";
import { Input } from "./input.ts";
import {
  addressParameter,
  chainParameter,
  includeParameter,
  pageParameters,
  queryOf,
  tokenIdParameter,
} from "./query.ts";
import { okRaw } from "./raw-json.ts";
import { contractBody, detailsBody, listItemBody } from "./token-body.ts";

export function addNfts(app: V0App, services: Services): void {
  app.get("/nfts", async (c) => {
    const query = queryOf(c);
    const input = Input.fromQuery(query);
    const chain = chainParameter(input, services.chains);
    const include = includeParameter(query, input, ["metadata", "file_information", "contract_information", "all"]);
    const page = pageParameters(input);
    input.check();

    const all = include.has("all");
    const show = {
      metadata: all || include.has("metadata"),
      fileInformation: all || include.has("file_information"),
      contract: all || include.has("contract_information"),
      dates: all,
    };
    const found = await listChainNfts(services, c.get("caller"), { chain, page, parts: show });
    return okRaw(c, {
      nfts: found.items.map(({ node }) => listItemBody(node, show)),
      continuation: found.continuation,
    });
  });

  app.get("/nfts/:contract_address", async (c) => {
    const query = queryOf(c);
    const input = Input.fromQuery(query);
    const chain = chainParameter(input, services.chains);
    const contract = addressParameter(input, "contract_address", c.req.param("contract_address"));
    const include = includeParameter(query, input, ["metadata", "file_information", "all"]);
    const refresh = input.boolean("refresh_metadata") ?? false;
    const page = pageParameters(input);
    input.check();

    const all = include.has("all");
    const show = {
      metadata: all || include.has("metadata"),
      fileInformation: all || include.has("file_information"),
      contract: false,
      dates: all,
    };
    const found = await listContractNfts(services, c.get("caller"), { chain, contract, page, parts: show });
    return okRaw(c, {
      nfts: found.items.map(({ node }) => listItemBody(node, show)),
      contract: contractBody(found.contract),
      total: Number(found.total),
      continuation: found.continuation,
      ...(refresh ? await refreshBody(c, services, { chain, contract }) : {}),
    });
  });

  app.get("/nfts/:contract_address/:token_id", async (c) => {
    const query = queryOf(c);
    const input = Input.fromQuery(query);
    const chain = chainParameter(input, services.chains);
    const contract = addressParameter(input, "contract_address", c.req.param("contract_address"));
    includeParameter(query, input, ["metadata", "file_information", "contract_information", "all", "rarity"]);
    const refresh = input.boolean("refresh_metadata") ?? false;
    const tokenId = tokenIdParameter(input, c.req.param("token_id"));
    input.check();

    const nft = await getNft(services, c.get("caller"), { chain, contract, tokenId });
    return okRaw(c, {
      nft: detailsBody(nft),
      owner: nft.owner,
      contract: contractBody(nft.contractRecord),
      ...(refresh ? await refreshBody(c, services, { chain, contract, tokenId }) : {}),
    });
  });
}

async function refreshBody(c: Context<V0Env>, services: Services, input: RefreshMetadataInput) {
  const status = await refreshMetadata(services, c.get("caller"), input);
  return { status, status_message: refreshMessages[status] };
}
