import type { Address } from "viem";
import { findChain } from "../chains.ts";
import { cancelDeployment } from "../collections/cancel-deployment.ts";
import { withFieldNames } from "../collections/field-names.ts";
import { findDeployedContract } from "../collections/find-deployed-contract.ts";
import { type Deployment, getDeployment } from "../collections/get-deployment.ts";
import { type DeploymentPage, listDeployments } from "../collections/list-deployments.ts";
import { watchDeployment } from "../collections/watch-deployment.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Builder } from "./builder.ts";
import type { DeploymentRef } from "./deployment-type.ts";
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
        if (id != null) return await getDeployment(services, caller, { id });
        if (chain == null || collection == null)
          throw new ServiceError("parameter_missing", "give the id, or the chain and the collection");
        return await getDeployment(services, caller, {
          chain: findChain(services.chains, chain),
          collection: collection as Address,
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
  builder.objectField(viewerType(builder), "deployments", (t) =>
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
        return await withUserErrors(() => cancelDeployment(context.services, caller, id));
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
      subscribe: async (_root, { id }, context) => await watchDeployment(context.services, await context.caller(), id),
      resolve: (state: Deployment) => state,
    }),
  );
}
