import type { ObjectFieldBuilder, ObjectRef } from "@pothos/core";
import { readProgress } from "../requests/progress.ts";
import { type ChainRequest, cancelRequest, type Family } from "../requests/requests.ts";
import type { PlannedCost } from "../requests/simulate.ts";
import { type Builder, chainField, oncePerBuilder, type Types } from "./builder.ts";
import { payloadType, withUserErrors } from "./user-errors.ts";

const states: Record<ChainRequest["state"], string> = {
  queued: "Accepted; waiting for a nonce.",
  held: "On hold until a condition changes; see `holdReason`.",
  assigned: "It has a nonce and is about to be signed.",
  batched: "A mint that shares one transaction with other mints of its contract; each succeeds or fails on its own.",
  signed: "Its transaction is signed and stored, and will be sent until it is mined.",
  in_flight: "Sent to the chain's nodes, but in no block yet.",
  mined: "In a block that can still be replaced; see `progress`.",
  mined_reverted: "Mined but reverted, in a block that can still be replaced.",
  mined_cancellation: "Cancelled by another transaction, in a block that can still be replaced.",
  confirmed: "Successful, in a block with enough confirmations. A deployed contract exists at its address.",
  finalized: "Successful, and no reorganisation can undo it.",
  failed_onchain: "Permanently rejected by the chain, without effect.",
  cancelled: "Cancelled before it took effect.",
  expired: "Not sent in time; it never will be.",
  nonce_conflict: "Its nonce was used by another transaction, so it had no effect.",
  retried: "Replaced by a retry with another nonce.",
};

const progressDescription =
  'Progress for display, such as "12 of 64 confirmations, about 100 s", estimated from recent block times. Null once it is confirmed or has ended.';

/** GraphQL writes enum values in capitals. */
type StateName = Uppercase<ChainRequest["state"]>;

/** The states of everything that is sent to a chain: deployments and updates alike. */
const stateType = oncePerBuilder((builder) =>
  builder.enumType("DeploymentState", {
    description: "The state of a deployment, update or mint request on its way to finality.",
    values: Object.fromEntries(
      Object.entries(states).map(([name, description]) => [name.toUpperCase(), { description }]),
    ) as Record<StateName, { description: string }>,
  }),
);

/** The fields that every chain request has. */
export function requestFields<R extends ChainRequest>(builder: Builder, t: ObjectFieldBuilder<Types, R>) {
  return {
    id: t.id({
      description: "The id of this request, for queries, subscriptions and cancelling.",
      resolve: ({ id }) => id,
    }),
    chain: t.field({ ...chainField, resolve: ({ chain }) => chain.name }),
    state: t.field({
      type: stateType(builder),
      description: "The state of the request.",
      resolve: ({ state }) => state.toUpperCase() as StateName,
    }),
    holdReason: t.string({
      nullable: true,
      description: "A code for why the request does not proceed, such as fee or budget. Null if nothing holds it up.",
      resolve: ({ holdReason }) => holdReason,
    }),
    transactionHash: t.field({
      type: "Hex",
      nullable: true,
      description:
        "The hash of the mined transaction or, before that, of the newest signed one. Null until it is signed.",
      resolve: ({ transactionHash }) => transactionHash,
    }),
    transactionUrl: t.string({
      nullable: true,
      description: "A link to the transaction in the chain's block explorer. Null until it is signed.",
      resolve: ({ chain, transactionHash }) => transactionHash && `${chain.explorerTxUrl}/${transactionHash}`,
    }),
    createdAt: t.field({
      type: "DateTime",
      description: "When the request was accepted.",
      resolve: ({ createdAt }) => createdAt,
    }),
    updatedAt: t.field({
      type: "DateTime",
      description: "When the request last changed.",
      resolve: ({ updatedAt }) => updatedAt,
    }),
  };
}

export function progressField<R extends ChainRequest>(t: ObjectFieldBuilder<Types, R>) {
  return t.string({
    nullable: true,
    description: progressDescription,
    resolve: async (root, _args, { services }) => (await readProgress(services, root))?.text ?? null,
  });
}

/** The cost estimate that a dry run shows. */
export function costFields<P extends PlannedCost>(t: ObjectFieldBuilder<Types, P>) {
  return {
    gas: t.field({
      type: "Uint256",
      description: "The estimated gas of the transaction, in units of gas.",
      resolve: ({ gas }) => gas,
    }),
    maxFeePerGasWei: t.field({
      type: "Wei",
      description: "The maximum fee per unit of gas, in wei.",
      resolve: ({ maxFeePerGasWei }) => maxFeePerGasWei,
    }),
    costWei: t.field({
      type: "Wei",
      description: "The cost at current fees, in wei.",
      resolve: ({ costWei }) => costWei,
    }),
    maxCostWei: t.field({
      type: "Wei",
      description: "The maximum cost, in wei.",
      resolve: ({ maxCostWei }) => maxCostWei,
    }),
  };
}

/**
 * Adds the mutation that cancels a request of one kind.
 *
 * @param shown the payload member that has the request.
 */
export function addCancel<R extends ChainRequest>(
  builder: Builder,
  family: Family<R>,
  type: ObjectRef<Types, R>,
  { name, shown, description }: { name: string; shown: string; description: string },
): void {
  const payload = payloadType<{ request: R }>(
    builder,
    `${name[0]?.toUpperCase()}${name.slice(1)}Payload`,
    `\`${name}\``,
    (t) => ({
      [shown]: t.field({
        type,
        nullable: true,
        description: "The request after the call. Null if there are user errors.",
        resolve: ({ request }) => request as never,
      }),
    }),
  );
  builder.mutationField(name, (t) =>
    t.field({
      type: payload,
      nullable: true,
      description,
      args: { id: t.arg.id({ required: true, description: "The id of the request to cancel." }) },
      resolve: async (_root, { id }, { services, caller }) =>
        await withUserErrors(caller(), async (account) => ({
          request: await cancelRequest(services, account, family, id),
        })),
    }),
  );
}
