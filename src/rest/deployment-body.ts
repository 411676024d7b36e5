import type { Input } from "./input.ts";

/** Legacy names of the use cases' members, where they differ by more than the letter case. */
const legacyNames: Record<string, string> = {
  reservedSupply: "team_reserve",
  mintPriceWei: "mint_price",
  presaleMintPriceWei: "presale_mint_price",
  allowlist: "presale_whitelisted_addresses",
  royaltiesBps: "royalties_share",
  collection: "contract_address",
  exit: "exit_nftport",
  idempotencyKey: "Idempotency-Key",
};

/** What a legacy client calls a member of a use case's input. */
export function legacyName(field: string): string {
  return legacyNames[field] ?? field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The members of a deployment request under all their spellings. Faults are left in `input`. */
export function readDeployment(input: Input) {
  const required = { required: true };
  return {
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
    metadataUpdatable: input.boolean("metadata_updatable"),
    ...readSettings(input),
  };
}

/** The members that deployments and updates have in common. */
function readSettings(input: Input) {
  return {
    presaleMintStart: input.date(["presale_mint_start", "presale_mint_start_date"]),
    allowlist: input.addresses("presale_whitelisted_addresses"),
    baseUri: input.text("base_uri", { emptyIsText: true }),
    prerevealTokenUri: input.text("prereveal_token_uri", { emptyIsText: true }),
    royaltiesBps: input.integer(["royalties_share", "royalty_share"]),
    royaltiesAddress: input.address(["royalties_address", "royalty_address"]),
  };
}

type Read = ReturnType<typeof readDeployment>;
/** Missing ones are faults of the input. */
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
export type DeploymentRequest = Read & { [K in RequiredMember]: NonNullable<Read[K]> };

/** The request, if its input had no fault. */
export function checkedDeployment(input: Input, request: Read): DeploymentRequest {
  input.check();
  return request as DeploymentRequest;
}

/** The members of an update; those that never change are only compared. Faults are left in `input`. */
export function readUpdate(input: Input) {
  return {
    chain: input.text("chain", { required: true }),
    collection: input.address("contract_address", { required: true }),
    publicMintStart: input.date(["public_mint_start", "public_mint_start_date"]),
    ...readSettings(input),
    freezeMetadata: input.boolean("freeze_metadata"),
    fixed: {
      name: input.text("name"),
      symbol: input.text("symbol"),
      maxSupply: input.integer("max_supply"),
      reservedSupply: input.integer("team_reserve"),
      tokensPerMint: input.integer("tokens_per_mint"),
      mintPriceWei: input.wei("mint_price"),
      treasuryAddress: input.address("treasury_address"),
    },
  };
}
