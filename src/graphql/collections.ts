import type { Address } from "viem";
import { findChain } from "../chains.ts";
import { type DeployCollectionResult, deployCollection } from "../collections/deploy-collection.ts";
import { type Eligibility, getEligibility, type Ineligibility } from "../collections/eligibility.ts";
import { withFieldNames } from "../collections/field-names.ts";
import { findDeployedContract } from "../collections/find-deployed-contract.ts";
import { getDeployment } from "../collections/get-deployment.ts";
import { type DeploymentPage, listDeployments } from "../collections/list-deployments.ts";
import { ServiceError } from "../errors.ts";
import type { Builder } from "./builder.ts";
import { deploymentType } from "./deployment-type.ts";
import { type UserError, userErrorType, withUserErrors } from "./user-errors.ts";

/** Launching collections, following their deployments, and the presale question of a wallet. */
export function addCollections(builder: Builder): void {
  const deployment = deploymentType(builder);
  addDeployCollection(builder, deployment);
  addDeployments(builder, deployment);
  addEligibility(builder);
}

type DeploymentRef = ReturnType<typeof deploymentType>;

function addDeployCollection(builder: Builder, deployment: DeploymentRef): void {
  const input = builder.inputType("DeployCollectionInput", {
    description: "An ERC-721 collection to launch. Supply and prices cannot be changed later.",
    fields: (t) => ({
      chain: t.string({ required: true }),
      name: t.string({ required: true }),
      symbol: t.string({ required: true }),
      maxSupply: t.field({ type: "Uint256", required: true, description: "Up to 5000 with a free key." }),
      reservedSupply: t.field({
        type: "Uint256",
        description: "Part of the supply that only an admin mints; default 0.",
      }),
      tokensPerMint: t.field({ type: "Uint256", required: true, description: "Most tokens of one mint call." }),
      mintPriceWei: t.field({ type: "Wei", required: true }),
      presaleMintPriceWei: t.field({ type: "Wei", description: "Default: the mint price." }),
      owner: t.field({ type: "Address", required: true }),
      treasury: t.field({ type: "Address", required: true, description: "Where withdrawn fees go, for ever." }),
      publicMintStart: t.field({ type: "DateTime", required: true }),
      presaleMintStart: t.field({ type: "DateTime", description: "Absent: no presale." }),
      allowlist: t.field({ type: ["Address"], description: "Wallets of the presale; repeats are dropped." }),
      metadataUpdatable: t.boolean({ defaultValue: true }),
      baseUri: t.string({ description: "URI of the metadata directory; absent: revealed later." }),
      prerevealTokenUri: t.string({ description: "Metadata of every token until then." }),
      royaltiesBps: t.int({ defaultValue: 0, description: "500 is 5 %." }),
      royaltiesAddress: t.field({ type: "Address", description: "Default: the owner." }),
      serviceAdmin: t.boolean({
        defaultValue: true,
        description: "Make the service's wallet an admin, so that it can reveal and update the collection.",
      }),
      idempotencyKey: t.string({
        description:
          "Requests with one key are one deployment, for ever. Without a key equal requests within minutes are.",
      }),
    }),
  });
  const payload = builder
    .objectRef<{ result: DeployCollectionResult | null; userErrors: readonly UserError[] }>("DeployCollectionPayload")
    .implement({
      fields: (t) => ({
        deployment: t.field({
          type: deployment,
          nullable: true,
          description: "Signed and stored: it will be driven to an end.",
          resolve: ({ result }) => result?.deployment ?? null,
        }),
        idempotencyKey: t.string({ nullable: true, resolve: ({ result }) => result?.idempotencyKey ?? null }),
        warnings: t.stringList({
          description: "Legal, but probably not meant.",
          resolve: ({ result }) => result?.warnings ?? [],
        }),
        userErrors: t.field({ type: [userErrorType(builder)], resolve: ({ userErrors }) => [...userErrors] }),
      }),
    });
  builder.mutationField("deployCollection", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description: "Deploys a collection. Answers when its transaction is signed and stored, before it is mined.",
      args: { input: t.arg({ type: input, required: true }) },
      resolve: async (_root, { input: given }, context) => {
        const caller = await context.caller();
        return await withUserErrors(() =>
          withFieldNames(
            deployCollection(context.services, caller, {
              chain: given.chain,
              name: given.name,
              symbol: given.symbol,
              maxSupply: given.maxSupply,
              reservedSupply: given.reservedSupply ?? undefined,
              tokensPerMint: given.tokensPerMint,
              mintPriceWei: given.mintPriceWei,
              presaleMintPriceWei: given.presaleMintPriceWei ?? undefined,
              ownerAddress: given.owner,
              treasuryAddress: given.treasury,
              publicMintStart: given.publicMintStart,
              presaleMintStart: given.presaleMintStart ?? undefined,
              allowlist: given.allowlist ?? undefined,
              metadataUpdatable: given.metadataUpdatable ?? undefined,
              baseUri: given.baseUri ?? undefined,
              prerevealTokenUri: given.prerevealTokenUri ?? undefined,
              royaltiesBps: given.royaltiesBps == null ? undefined : BigInt(given.royaltiesBps),
              royaltiesAddress: given.royaltiesAddress ?? undefined,
              grantServiceAdmin: given.serviceAdmin ?? undefined,
              idempotencyKey: given.idempotencyKey ?? undefined,
            }),
            (field) => shortNames[field] ?? field,
          ),
        );
      },
    }),
  );
}

function addDeployments(builder: Builder, deployment: DeploymentRef): void {
  builder.queryField("deployment", (t) =>
    t.field({
      type: deployment,
      nullable: true,
      description: "One deployment of the caller's account, by its id or by chain and collection address.",
      args: { id: t.arg.id(), chain: t.arg.string(), collection: t.arg({ type: "Address" }) },
      resolve: async (_root, { id, chain, collection }, context) => {
        const caller = await context.caller();
        const { services } = context;
        if (id != null) return await getDeployment(services, caller, { id });
        if (chain == null || collection == null)
          throw new ServiceError("parameter_missing", "give the id, or the chain and the collection");
        const place = { chain: findChain(services.chains, chain), collection: collection as Address };
        return await getDeployment(services, caller, place);
      },
    }),
  );
  builder.queryField("deployedContract", (t) =>
    t.field({
      type: "Address",
      nullable: true,
      description:
        "Address of the collection that a deployment transaction of the caller's account made; fails with transaction_pending until it is confirmed. Any hash that was ever signed for the deployment leads there.",
      args: { chain: t.arg.string({ required: true }), transactionHash: t.arg({ type: "Hex", required: true }) },
      resolve: async (_root, input, context) =>
        await withFieldNames(findDeployedContract(context.services, await context.caller(), input), (field) =>
          field === "transaction_hash" ? "transactionHash" : field,
        ),
    }),
  );
  const edge = builder.objectRef<DeploymentPage["deployments"][number]>("DeploymentEdge").implement({
    fields: (t) => ({
      cursor: t.exposeString("cursor"),
      node: t.field({ type: deployment, resolve: (item) => item.deployment }),
    }),
  });
  const connection = builder.objectRef<DeploymentPage>("DeploymentConnection").implement({
    fields: (t) => ({
      // The page size is in the connection's own cost.
      edges: t.field({ type: [edge], complexity: { multiplier: 1 }, resolve: (page) => page.deployments }),
      nodes: t.field({
        type: [deployment],
        complexity: { multiplier: 1 },
        resolve: (page) => page.deployments.map((item) => item.deployment),
      }),
      pageInfo: t.field({
        type: builder.pageInfoRef(),
        resolve: ({ deployments, hasNextPage }) => ({
          hasNextPage,
          hasPreviousPage: false,
          startCursor: deployments[0]?.cursor ?? null,
          endCursor: deployments.at(-1)?.cursor ?? null,
        }),
      }),
    }),
  });
  builder.queryField("deployments", (t) =>
    t.field({
      type: connection,
      nullable: true,
      description: "The deployments of the caller's account, newest first.",
      args: { first: t.arg.int({ defaultValue: 20 }), after: t.arg.string() },
      complexity: ({ first }) => ({ field: 5, multiplier: Math.min(Math.max(first ?? 20, 1), 100) }),
      resolve: async (_root, { first, after }, context) =>
        await listDeployments(context.services, await context.caller(), {
          first: first ?? 20,
          after: after ?? undefined,
        }),
    }),
  );
}

function addEligibility(builder: Builder): void {
  const reason = builder.enumType("IneligibilityReason", {
    values: {
      NO_LIST: { description: "The collection has no presale list here." },
      NOT_LISTED: {},
      ALREADY_MINTED: { description: "The wallet has made its one presale mint." },
      LIST_CHANGED_ON_CHAIN: { description: "An admin of the collection replaced the list elsewhere." },
    } satisfies Record<Ineligibility, { description?: string }>,
  });
  const eligibility = builder.objectRef<Eligibility>("Eligibility").implement({
    description: "Whether a wallet is on the presale list, and what its mint needs.",
    fields: (t) => ({
      eligible: t.exposeBoolean("eligible"),
      reason: t.expose("reason", { type: reason, nullable: true }),
      proof: t.field({
        type: ["Hex"],
        nullable: true,
        description: "The argument of `presaleMint`; empty for a list of one; null for a wallet that is not listed.",
        resolve: ({ proof }) => proof,
      }),
    }),
  });
  builder.queryField("eligibility", (t) =>
    t.field({
      type: eligibility,
      nullable: true,
      args: {
        chain: t.arg.string({ required: true }),
        collection: t.arg({ type: "Address", required: true }),
        wallet: t.arg({ type: "Address", required: true }),
      },
      resolve: async (_root, { chain, collection, wallet }, context) =>
        await getEligibility(context.services, await context.caller(), {
          chain,
          collection: collection as Address,
          wallet: wallet as Address,
        }),
    }),
  );
}

/** Members that this door calls by a shorter name than the use case. */
const shortNames: Record<string, string> = {
  ownerAddress: "owner",
  treasuryAddress: "treasury",
  grantServiceAdmin: "serviceAdmin",
};
