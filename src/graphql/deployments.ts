import type { Address } from "viem";
import { findChain } from "../chains.ts";
import { type Deployment, deployments } from "../collections/deployment-input.ts";
import { findDeployedContract } from "../collections/find-deployed-contract.ts";
import { withFieldNames } from "../collections/problems.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Page } from "../nfts/page.ts";
import { cancelRequest, getRequest, listRequests, watchRequest } from "../requests/requests.ts";
import type { Builder } from "./builder.ts";
import { connectionCost } from "./connection.ts";
import type { DeploymentRef } from "./deployment-type.ts";
import { connectionOf } from "./page-types.ts";
import { type UserError, userErrorType, withUserErrors } from "./user-errors.ts";
import { viewerType } from "./viewer.ts";

/** Deployments on their way: reading, listing, following and cancelling them. */
export function addDeployments(builder: Builder, deployment: DeploymentRef): void {
  builder.queryField("deployment", (t) =>
    t.field({
      type: deployment,
      nullable: true,
      description: "One deployment of the caller's account, by its id or by chain and collection address.",
      args: { id: t.arg.id(), chain: t.arg({ type: "ChainName" }), collection: t.arg({ type: "Address" }) },
      resolve: async (_root, { id, chain, collection }, context) => {
        const caller = await context.caller();
        const { services } = context;
        if (id != null) return await getRequest(services, caller, deployments, { id });
        if (chain == null || collection == null)
          throw new ServiceError("parameter_missing", "give the id, or the chain and the collection");
        return await getRequest(services, caller, deployments, {
          chain: findChain(services.chains, chain),
          contract: collection as Address,
        });
      },
    }),
  );
  builder.objectField(viewerType(builder), "deployedContract", (t) =>
    t.field({
      type: "Address",
      nullable: true,
      description:
        "Address of the collection that a deployment transaction of the caller's account made; fails with transaction_pending until it is confirmed. Any hash that was ever signed for the deployment leads there.",
      args: {
        chain: t.arg({ type: "ChainName", required: true }),
        transactionHash: t.arg({ type: "Hex", required: true }),
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
      description: "The deployments of the caller's account, newest first.",
      args: { first: t.arg.int({ defaultValue: 20 }), after: t.arg.string() },
      complexity: connectionCost,
      resolve: async (_root, { first, after }, { services, caller }) =>
        await listRequests(services, await caller(), deployments, { first: first ?? 20, after: after ?? undefined }),
    }),
  );
}

/** Cancels one, and a stream of its states. */
export function addDeploymentChanges(builder: Builder, deployment: DeploymentRef): void {
  const payload = builder
    .objectRef<{ result: Deployment | null; userErrors: readonly UserError[] }>("CancelDeploymentPayload")
    .implement({
      fields: (t) => ({
        deployment: t.field({ type: deployment, nullable: true, resolve: ({ result }) => result }),
        userErrors: t.field({ type: [userErrorType(builder)], resolve: ({ userErrors }) => [...userErrors] }),
      }),
    });
  builder.mutationField("cancelDeployment", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description:
        "Takes a deployment of the caller's account back while the chain has not decided: at once before it has a nonce; later the nonce is used for a transaction that does nothing, if that one is faster.",
      args: { id: t.arg.id({ required: true }) },
      resolve: async (_root, { id }, context) => {
        const caller = await context.caller();
        return await withUserErrors(() => cancelRequest(context.services, caller, deployments, id));
      },
    }),
  );
  builder.subscriptionType({ description: "Streams, served as server-sent events." });
  builder.subscriptionField("deployment", (t) =>
    t.field({
      type: deployment,
      description:
        "A deployment of the caller's account, now and after each change, until it has ended or for half an hour. Served as server-sent events.",
      args: { id: t.arg.id({ required: true }) },
      subscribe: async (_root, { id }, context) =>
        await watchRequest(context.services, await context.caller(), deployments, id),
      resolve: (state: Deployment) => state,
    }),
  );
}
