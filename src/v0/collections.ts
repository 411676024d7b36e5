import { deployCollection } from "../collections/deploy-collection.ts";
import { withFieldNames } from "../collections/field-names.ts";
import type { Services } from "../services.ts";
import { ok } from "./answer.ts";
import type { V0App } from "./app.ts";
import { explorerUrl } from "./explorer-url.ts";
import { Input } from "./input.ts";
import { parseJsonObject, readBody } from "./json-body.ts";

/** Legacy names of the use case's members, where they differ by more than the letter case. */
const legacyNames: Record<string, string> = {
  reservedSupply: "team_reserve",
  mintPriceWei: "mint_price",
  presaleMintPriceWei: "presale_mint_price",
  allowlist: "presale_whitelisted_addresses",
  royaltiesBps: "royalties_share",
  idempotencyKey: "Idempotency-Key",
};

export function addCollections(app: V0App, services: Services): void {
  app.post("/contracts/collections", async (c) => {
    const body = parseJsonObject(await readBody(c.env.incoming, services.config.limits.jsonBodyBytes));
    const request = readDeployment(Input.fromBody(body));
    const idempotencyKey = c.req.header("Idempotency-Key");
    const result = await withFieldNames(
      deployCollection(services, c.get("caller"), { ...request, idempotencyKey }),
      legacyName,
    );
    const { deployment } = result;
    c.header("Idempotency-Key", result.idempotencyKey);
    return ok(c, {
      chain: request.chain,
      transaction_hash: deployment.transactionHash,
      transaction_external_url: explorerUrl(deployment.chain, request.chain, deployment.transactionHash),
      owner_address: request.ownerAddress,
      name: request.name,
      symbol: request.symbol,
    });
  });
}

function readDeployment(input: Input) {
  const required = { required: true };
  const request = {
    chain: input.text("chain", required),
    name: input.text("name", required),
    symbol: input.text("symbol", required),
    maxSupply: input.integer("max_supply", required),
    reservedSupply: input.integer("team_reserve"),
    tokensPerMint: input.integer("tokens_per_mint", required),
    mintPriceWei: input.wei("mint_price", required),
    presaleMintPriceWei: input.wei("presale_mint_price"),
    ownerAddress: input.address("owner_address", required),
    treasuryAddress: input.address("treasury_address", required),
    publicMintStart: input.date(["public_mint_start", "public_mint_start_date"], required),
    presaleMintStart: input.date(["presale_mint_start", "presale_mint_start_date"]),
    allowlist: input.addresses("presale_whitelisted_addresses"),
    metadataUpdatable: input.boolean("metadata_updatable"),
    baseUri: input.text("base_uri"),
    prerevealTokenUri: input.text("prereveal_token_uri"),
    royaltiesBps: input.integer(["royalties_share", "royalty_share"]),
    royaltiesAddress: input.address(["royalties_address", "royalty_address"]),
  };
  input.check();
  return request as typeof request & Required<Pick<Present<typeof request>, RequiredMember>>;
}

/** Missing ones were refused above. */
type RequiredMember =
  | "chain"
  | "name"
  | "symbol"
  | "maxSupply"
  | "tokensPerMint"
  | "mintPriceWei"
  | "ownerAddress"
  | "treasuryAddress"
  | "publicMintStart";
type Present<T> = { [K in keyof T]: NonNullable<T[K]> };

function legacyName(field: string): string {
  return legacyNames[field] ?? field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
