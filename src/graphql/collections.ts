import type { Address } from "viem";
import { findChain } from "../chains.ts";
import { getCollection, listCollections } from "../collections/collections.ts";
import { type ReportedDeployment, reportDeployment } from "../collections/prepare-deployment.ts";
import type { Builder } from "./builder.ts";
import { addCollectionType, collectionType, loadCollection } from "./collection-type.ts";
import { addDeployCollection } from "./deploy-collection.ts";
import { deploymentType, stateType } from "./deployment-type.ts";
import { addDeploymentChanges, addDeployments } from "./deployments.ts";
import { addEligibility } from "./eligibility.ts";
import { addMints } from "./mint.ts";
import { addMintRequests } from "./mint-request.ts";
import { nftTypes } from "./nft-types.ts";
import { addUpdateCollection } from "./update-collection.ts";
import { type UserError, userErrorType, withUserErrors } from "./user-errors.ts";
import { viewerType } from "./viewer.ts";

/** Launching collections, following their deployments, reading and changing what stands. */
export function addCollections(builder: Builder): void {
  const state = stateType(builder);
  const deployment = deploymentType(builder, state);
  addDeployCollection(builder, deployment);
  addDeployments(builder, deployment);
  addDeploymentChanges(builder, deployment);
  addReportDeployment(builder);
  addEligibility(builder);
  addCollectionType(builder);
  addCollectionReads(builder);
  addUpdateCollection(builder, state);
  addMintRequests(builder, state);
  addMints(builder);
}

function addCollectionReads(builder: Builder): void {
  const collection = collectionType(builder);
  builder.queryField("collection", (t) =>
    t.field({
      type: collection,
      nullable: true,
      description: "One collection of the caller's account, by its address.",
      args: {
        chain: t.arg({ type: "ChainName", required: true }),
        address: t.arg({ type: "Address", required: true }),
      },
      resolve: async (_root, { chain, address }, context) =>
        await getCollection(context.services, await context.caller(), { chain, address: address as Address }),
    }),
  );
  builder.objectField(viewerType(builder), "collections", (t) =>
    t.field({
      type: [collection],
      nullable: true,
      description: "All collections of the caller's account on a chain that stand, newest first.",
      args: { chain: t.arg({ type: "ChainName", required: true }) },
      complexity: { field: 5, multiplier: 10 },
      resolve: async (_viewer, { chain }, context) =>
        await listCollections(context.services, await context.caller(), chain, { allowlists: false }),
    }),
  );
  builder.objectField(nftTypes(builder).contract, "collection", (t) =>
    t.field({
      type: collection,
      nullable: true,
      description: "The collection of the caller's account at this address; null for any other contract.",
      resolve: async ({ chain, address }, _args, context) =>
        await loadCollection(context, findChain(context.services.chains, chain), address as Address),
    }),
  );
}

/** Which transaction of a creator's own wallet is the deployment of a request of mode SIGN. */
function addReportDeployment(builder: Builder): void {
  const payload = builder
    .objectRef<{ result: ReportedDeployment | null; userErrors: readonly UserError[] }>("ReportDeploymentPayload")
    .implement({
      fields: (t) => ({
        collection: t.field({
          type: "Address",
          nullable: true,
          description: "Where the collection stands, or will when the transaction is mined.",
          resolve: ({ result }) => result?.address ?? null,
        }),
        userErrors: t.field({ type: [userErrorType(builder)], resolve: ({ userErrors }) => [...userErrors] }),
      }),
    });
  builder.mutationField("reportDeployment", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description:
        "Names the transaction with which a wallet of the creator's deployed what `mode: SIGN` prepared. It decides, whoever else sent the same bytes; needed where the wallet is neither the owner nor the `sender` that was given.",
      args: {
        chain: t.arg({ type: "ChainName", required: true }),
        transactionHash: t.arg({ type: "Hex", required: true }),
      },
      resolve: async (_root, input, context) => {
        const caller = await context.caller();
        return await withUserErrors(() => reportDeployment(context.services, caller, input));
      },
    }),
  );
}
