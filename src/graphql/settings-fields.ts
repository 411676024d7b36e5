import type { ObjectFieldBuilder } from "@pothos/core";
import type { DeploymentPayload } from "../collections/deployment-input.ts";
import type { Builder } from "./builder.ts";

type Types = Builder extends PothosSchemaTypes.SchemaBuilder<infer T> ? T : never;

/** What a creator asks for, as deployments and collections show it. */
export function settingsFields<Parent>(
  t: ObjectFieldBuilder<Types, Parent>,
  of: (parent: Parent) => DeploymentPayload,
) {
  return {
    name: t.string({ resolve: (root) => of(root).name }),
    symbol: t.string({ resolve: (root) => of(root).symbol }),
    owner: t.field({ type: "Address", resolve: (root) => of(root).ownerAddress }),
    treasury: t.field({ type: "Address", resolve: (root) => of(root).treasuryAddress }),
    maxSupply: t.field({ type: "Uint256", resolve: (root) => BigInt(of(root).maxSupply) }),
    reservedSupply: t.field({ type: "Uint256", resolve: (root) => BigInt(of(root).reservedSupply) }),
    tokensPerMint: t.field({ type: "Uint256", resolve: (root) => BigInt(of(root).tokensPerMint) }),
    mintPriceWei: t.field({ type: "Wei", resolve: (root) => BigInt(of(root).publicMintPriceWei) }),
    presaleMintPriceWei: t.field({ type: "Wei", resolve: (root) => BigInt(of(root).presaleMintPriceWei) }),
    publicMintStart: t.field({ type: "DateTime", resolve: (root) => dateOf(of(root).publicMintStart) }),
    presaleMintStart: t.field({
      type: "DateTime",
      nullable: true,
      description: "Null: no presale.",
      resolve: (root) => (of(root).presaleMintStart === "0" ? null : dateOf(of(root).presaleMintStart)),
    }),
    presaleMerkleRoot: t.field({ type: "Hex", resolve: (root) => of(root).presaleMerkleRoot }),
    metadataUpdatable: t.boolean({ resolve: (root) => of(root).metadataUpdatable }),
    baseUri: t.string({ resolve: (root) => of(root).baseUri }),
    prerevealTokenUri: t.string({ resolve: (root) => of(root).prerevealTokenUri }),
    royaltiesBps: t.int({ resolve: (root) => Number(of(root).royaltiesBps) }),
    royaltiesAddress: t.field({ type: "Address", resolve: (root) => of(root).royaltiesAddress }),
    serviceAdmin: t.boolean({
      description: "Whether the service's wallet is an admin of the collection.",
      resolve: (root) => of(root).grantServiceAdmin,
    }),
  };
}

function dateOf(seconds: string): Date {
  return new Date(Number(seconds) * 1000);
}
