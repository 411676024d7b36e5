import { withFieldNames } from "../collections/problems.ts";
import { carryOut } from "../products/carry-out.ts";
import { createContract } from "../products/create-contract.ts";
import { type ListedProduct, listProducts } from "../products/lists.ts";
import { roleWords } from "../products/product-calls.ts";
import { updateContract } from "../products/update-contract.ts";
import type { Services } from "../services.ts";
import type { RoleList, RoleWord } from "../transactions/store/payloads.ts";
import { ok } from "./answer.ts";
import type { V0App } from "./app.ts";
import { naiveMicros } from "./dates.ts";
import { legacyName } from "./deployment-body.ts";
import { explorerUrl } from "./explorer-url.ts";
import { Input } from "./input.ts";
import { readJsonObject } from "./json-body.ts";
import { wordParameter } from "./query.ts";

/** Contracts in which the service mints for its clients: POST and PUT /contracts, GET /me/contracts */
export function addProductContracts(app: V0App, services: Services): void {
  const { jsonBodyBytes } = services.config.limits;
  app.post("/contracts", async (c) => {
    const input = Input.fromBody(
      await readJsonObject(c.env.incoming, jsonBodyBytes, { account: c.get("caller").accountId }),
    );
    const required = { required: true };
    const request = {
      chain: input.text("chain", required) ?? "",
      name: input.text("name", required) ?? "",
      symbol: input.text("symbol", required) ?? "",
      ownerAddress: input.address("owner_address", required) ?? "",
      type: wordParameter(input, "type", ["erc721", "erc1155"] as const) ?? "erc721",
      metadataUpdatable: input.boolean("metadata_updatable"),
      baseUri: input.text("base_uri"),
      royaltiesBps: input.integer(["royalties_share", "royalty_share"]),
      royaltiesAddress: input.address(["royalties_address", "royalty_address"]),
      roles: readRoles(input),
    };
    input.check();
    const idempotencyKey = c.req.header("Idempotency-Key");
    const caller = c.get("caller");
    const done = await withFieldNames(
      createContract(services, caller, { ...request, idempotencyKey }).then((operation) =>
        carryOut(services, caller, operation),
      ),
      legacyName,
    );
    c.header("Idempotency-Key", done.idempotencyKey);
    const { chain, transactionHash } = done.request;
    return ok(c, {
      chain: request.chain,
      transaction_hash: transactionHash,
      transaction_external_url: explorerUrl(chain, request.chain, transactionHash),
      owner_address: request.ownerAddress,
      type: request.type,
      name: request.name,
      symbol: request.symbol,
    });
  });

  app.put("/contracts", async (c) => {
    const input = Input.fromBody(
      await readJsonObject(c.env.incoming, jsonBodyBytes, { account: c.get("caller").accountId }),
    );
    const freeze = input.boolean("freeze_metadata");
    const request = {
      chain: input.text("chain", { required: true }) ?? "",
      contract: input.address("contract_address", { required: true }) ?? "",
      freezeMetadata: freeze,
      baseUri: input.text("base_uri", { emptyIsText: true }),
      royaltiesBps: input.integer(["royalties_share", "royalty_share"]),
      royaltiesAddress: input.address(["royalties_address", "royalty_address"]),
      roles: readRoles(input),
      exit: input.boolean("exit_nftport"),
    };
    input.check();
    const idempotencyKey = c.req.header("Idempotency-Key");
    const caller = c.get("caller");
    const done = await withFieldNames(
      updateContract(services, caller, { ...request, idempotencyKey }).then((operation) =>
        carryOut(services, caller, operation),
      ),
      legacyName,
    );
    c.header("Idempotency-Key", done.idempotencyKey);
    const { chain, transactionHash } = done.request;
    return ok(c, {
      chain: request.chain,
      transaction_hash: transactionHash,
      transaction_external_url: explorerUrl(chain, request.chain, transactionHash),
      freeze_metadata: freeze ?? null,
    });
  });

  app.get("/me/contracts", async (c) => {
    const products = await listProducts(services, c.get("caller"));
    return ok(c, { contracts: products.map(contractBody) });
  });
}

const mostRoles = 20;

function readRoles(input: Input): RoleList[] | undefined {
  if (!input.has("roles")) return undefined;
  if (input.isEmptyList("roles")) return [];
  return input.items("roles", mostRoles, (item) => ({
    role: wordParameter(item, "role", Object.keys(roleWords) as RoleWord[], true) ?? "mint",
    addresses: item.addresses("addresses") ?? [],
    freeze: item.boolean("freeze") ?? false,
  }));
}

function contractBody({ chain, address, transactionHash, createdMicros, settings, exited }: ListedProduct) {
  return {
    name: settings.name,
    symbol: settings.symbol,
    transaction_hash: transactionHash,
    transaction_external_url: transactionHash && explorerUrl(chain, chain.name, transactionHash),
    chain: chain.name,
    address,
    owner_address: settings.ownerAddress,
    creation_date: naiveMicros(createdMicros),
    metadata_frozen: !settings.metadataUpdatable,
    tokens_burnable: settings.tokensBurnable,
    tokens_transferable: settings.tokensTransferable,
    type: settings.type,
    royalties_share: Number(settings.royaltiesBps),
    royalties_address: settings.royaltiesAddress,
    roles: settings.roles.length === 0 ? null : settings.roles,
    exited_nftport: exited,
  };
}
