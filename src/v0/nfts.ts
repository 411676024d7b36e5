import type { Context } from "hono";
import { chainPage, contractPage, nftDetails } from "../nfts/json-lists.ts";
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
import { okRaw, RawJson, rawList } from "./raw-json.ts";
import { contractMembers, detailsShape, listItemShape } from "./token-shape.ts";

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
    const shape = listItemShape(show);
    const found = await chainPage(services, c.get("caller"), { chain, page, shape, strictContract: false });
    return okRaw(c, {
      nfts: rawList(found.items),
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
    const found = await contractPage(services, c.get("caller"), {
      ...{ chain, contract, page, contractMembers, shape: listItemShape(show), strictContract: false },
    });
    return okRaw(c, {
      nfts: rawList(found.items),
      contract: rawOrNull(found.contract),
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

    const found = await nftDetails(services, c.get("caller"), {
      ...{ chain, contract, tokenId, shape: detailsShape, contractMembers },
    });
    return okRaw(c, {
      nft: new RawJson(found.nft),
      owner: found.owner,
      contract: rawOrNull(found.contract),
      ...(refresh ? await refreshBody(c, services, { chain, contract, tokenId }) : {}),
    });
  });
}

function rawOrNull(text: string | null): RawJson | null {
  return text === null ? null : new RawJson(text);
}

async function refreshBody(c: Context<V0Env>, services: Services, input: RefreshMetadataInput) {
  const status = await refreshMetadata(services, c.get("caller"), input);
  return { status, status_message: refreshMessages[status] };
}
