import { findChain } from "../chains.ts";
import { type Deployment, deployments } from "../collections/deployment-input.ts";
import { findDeployedContract } from "../collections/find-deployed-contract.ts";
import { withFieldNames } from "../collections/problems.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Page } from "../nfts/page.ts";
import { readProgress } from "../requests/progress.ts";
import { getRequest, listRequests, watchRequest } from "../requests/requests.ts";
import { type Builder, chainArg, oncePerBuilder } from "./builder.ts";
import { collectionType, loadCollection, settingsFields } from "./collection-type.ts";
import { connectionCost, connectionOf, forwardArgs } from "./connection.ts";
import { addCancel, progressField, requestFields } from "./request-fields.ts";
import { viewerType } from "./viewer.ts";

/** One deployment: its settings and its progress. */
export const deploymentType = oncePerBuilder((builder) =>
  builder.objectRef<Deployment>("Deployment").implement({
    description: "The deployment of one collection, from the request to confirmation.",
    fields: (t) => ({
      ...requestFields(builder, t),
      predictedAddress: t.field({
        type: "Address",
        description: "The address that the collection will have. Send nothing there before `collection` is set.",
        resolve: ({ contract }) => contract,
      }),
      collection: t.field({
        type: collectionType(builder),
        nullable: true,
        description: "The deployed collection. Null until the deployment is confirmed.",
        resolve: async ({ chain, confirmed, contract }, _args, context) =>
          confirmed ? await loadCollection(context, chain, contract) : null,
      }),
      block: t.field({
        type: "Uint256",
        nullable: true,
        description: "The number of the block with the transaction. Null while it is in no block.",
        resolve: (deployment) => deployment.block,
      }),
      confirmationsRequired: t.int({
        description:
          "The number of confirmations that the transaction needs. The block that contains it counts as the first.",
        resolve: ({ chain }) => chain.confirmations,
      }),
      confirmations: t.field({
        type: "Uint256",
        nullable: true,
        description:
          "The number of confirmations so far; 0 while the transaction is in no block. Null if no node answers, and once the deployment is confirmed or has ended.",
        resolve: async (deployment, _args, { services }) =>
          (await readProgress(services, deployment))?.confirmations ?? null,
      }),
      progress: progressField(t),
      ...settingsFields<Deployment>(t, ({ payload }) => payload),
    }),
  }),
);

/** Deployments: reading, listing, following and cancelling them. */
export function addDeployments(builder: Builder): void {
  const deployment = deploymentType(builder);
  builder.queryField("deployment", (t) =>
    t.field({
      type: deployment,
      nullable: true,
      description: "One deployment of your account, by its id or by chain and collection address.",
      args: {
        id: t.arg.id({ description: "The id of the deployment." }),
        chain: t.arg({ type: "ChainName", description: "Without an id: the name of the collection's chain." }),
        collection: t.arg({ type: "Address", description: "Without an id: the address of the collection." }),
      },
      resolve: async (_root, { id, chain, collection }, context) => {
        const caller = await context.caller();
        const { services } = context;
        if (id != null) return await getRequest(services, caller, deployments, { id });
        if (chain == null || collection == null)
          throw new ServiceError("parameter_missing", "give the id, or the chain and the collection");
        const key = { chain: findChain(services.chains, chain), contract: collection };
        return await getRequest(services, caller, deployments, key);
      },
    }),
  );
  builder.objectField(viewerType(builder), "deployedContract", (t) =>
    t.field({
      type: "Address",
      nullable: true,
      description:
        "The address of the collection that a deployment transaction of your account created. Fails with transaction_pending until the transaction is confirmed. Any hash that was ever signed for the deployment works.",
      args: {
        chain: t.arg(chainArg),
        transactionHash: t.arg({
          type: "Hex",
          required: true,
          description: "The hash of the transaction, in any letter case.",
        }),
      },
      resolve: async (_root, input, context) =>
        await withFieldNames(findDeployedContract(context.services, await context.caller(), input), (field) =>
          field === "transaction_hash" ? "transactionHash" : field,
        ),
    }),
  );
  const connection = connectionOf<Deployment, Page<Deployment>>(builder, "Deployment", deployment);
  builder.objectField(viewerType(builder), "deployments", (t) =>
    t.field({
      type: connection,
      nullable: true,
      description: "The deployments of your account, newest first.",
      args: forwardArgs(builder),
      complexity: connectionCost,
      resolve: async (_root, { first, after }, { services, caller }) =>
        await listRequests(services, await caller(), deployments, { first: first ?? 20, after: after ?? undefined }),
    }),
  );
  addDeploymentChanges(builder);
}

/** Cancelling a deployment, and a stream of its states. */
function addDeploymentChanges(builder: Builder): void {
  const deployment = deploymentType(builder);
  addCancel(builder, deployments, deployment, {
    name: "cancelDeployment",
    shown: "deployment",
    description:
      "Cancels a deployment of your account that is not mined yet: at once if it has no nonce; otherwise an empty transaction with the same nonce is sent, and the deployment is cancelled if that one is mined first.",
  });
  builder.subscriptionType({
    description: "Subscriptions, served as server-sent events: send `Accept: text/event-stream`.",
  });
  builder.subscriptionField("deployment", (t) =>
    t.field({
      type: deployment,
      description:
        "A deployment of your account: its current state, then every change until it ends, for at most half an hour. Served as server-sent events.",
      args: { id: t.arg.id({ required: true, description: "The id of the deployment." }) },
      subscribe: async (_root, { id }, context) =>
        await watchRequest(context.services, await context.caller(), deployments, id),
      resolve: (state: Deployment) => state,
    }),
  );
}
