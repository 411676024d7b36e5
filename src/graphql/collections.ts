import type { Address } from "viem";
import { type Collection, getCollection, listCollections } from "../collections/collections.ts";
import { getContractAbi } from "../collections/contract-abi.ts";
import type { Builder } from "./builder.ts";
import { addDeployCollection } from "./deploy-collection.ts";
import { deploymentType, stateType } from "./deployment-type.ts";
import { addDeploymentChanges, addDeployments } from "./deployments.ts";
import { addEligibility } from "./eligibility.ts";
import { addReportDeployment } from "./report-deployment.ts";
import { settingsFields } from "./settings-fields.ts";
import { addUpdateCollection } from "./update-collection.ts";

/** Launching collections, following their deployments, reading and changing what stands. */
export function addCollections(builder: Builder): void {
  const state = stateType(builder);
  const deployment = deploymentType(builder, state);
  addDeployCollection(builder, deployment);
  addDeployments(builder, deployment);
  addDeploymentChanges(builder, deployment);
  addReportDeployment(builder);
  addEligibility(builder);
  addCollectionReads(builder);
  addUpdateCollection(builder, state);
}

function addCollectionReads(builder: Builder): void {
  const collection = builder.objectRef<Collection>("Collection").implement({
    description: "A collection of the account that stands on its chain, as of the last update by the service.",
    fields: (t) => ({
      id: t.exposeID("id"),
      chain: t.string({ resolve: ({ chain }) => chain.name }),
      address: t.field({ type: "Address", resolve: ({ address }) => address }),
      transactionHash: t.field({
        type: "Hex",
        description: "Of the deployment.",
        resolve: ({ transactionHash }) => transactionHash,
      }),
      block: t.field({ type: "Uint256", resolve: ({ block }) => block }),
      relayed: t.exposeBoolean("relayed", { description: "False: a wallet of the creator's deployed it." }),
      ...settingsFields<Collection>(t, ({ settings }) => settings),
      createdAt: t.field({
        type: "DateTime",
        resolve: ({ createdMicros }) => new Date(Number(createdMicros / 1000n)),
      }),
      abi: t.field({
        type: "JSON",
        description: "The compiler's ABI with selectors and topics.",
        complexity: 50,
        resolve: async ({ chain, address }, _args, context) =>
          await getContractAbi(context.services, await context.caller(), { chain: chain.name, address }),
      }),
    }),
  });
  builder.queryField("collection", (t) =>
    t.field({
      type: collection,
      nullable: true,
      description: "One collection of the caller's account, by its address.",
      args: { chain: t.arg.string({ required: true }), address: t.arg({ type: "Address", required: true }) },
      resolve: async (_root, { chain, address }, context) =>
        await getCollection(context.services, await context.caller(), { chain, address: address as Address }),
    }),
  );
  builder.queryField("collections", (t) =>
    t.field({
      type: [collection],
      nullable: true,
      description: "All collections of the caller's account on a chain that stand, newest first.",
      args: { chain: t.arg.string({ required: true }) },
      complexity: { field: 5, multiplier: 10 },
      resolve: async (_root, { chain }, context) =>
        await listCollections(context.services, await context.caller(), chain, { allowlists: false }),
    }),
  );
}
