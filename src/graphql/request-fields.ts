import type { ObjectFieldBuilder, ObjectRef } from "@pothos/core";
import { readProgress } from "../requests/progress.ts";
import { type ChainRequest, cancelRequest, type Family } from "../requests/requests.ts";
import type { PlannedCost } from "../requests/simulate.ts";
import { type Builder, chainField, oncePerBuilder, type Types } from "./builder.ts";
import { payloadType, withUserErrors } from "./user-errors.ts";

const states: Record<ChainRequest["state"], string> = {
  queued: "Accepted; it waits for a nonce.",
  held: "It waits until something changes: see `holdReason`.",
  assigned: "It has a nonce and is about to be signed.",
  batched: "A mint in one transaction with other mints of its contract; it has an outcome of its own.",
  signed: "Its transaction is on disk; it will be sent until it is mined.",
  in_flight: "Sent to the chain's nodes, and in no block yet.",
  mined: "In a block that may still be replaced: see `progress`.",
  mined_reverted: "Mined without success, in a block that may still be replaced.",
  mined_cancellation: "Cancelled by another transaction, in a block that may still be replaced.",
  confirmed: "It took effect, in a block with enough confirmations: a deployed contract stands at its address.",
  finalized: "It took effect, and no reorganisation can take it back.",
  failed_onchain: "The chain refused it for good; it had no effect.",
  cancelled: "Cancelled before it took effect.",
  expired: "It could not be sent in time, and never will be.",
  nonce_conflict: "Its nonce was used up without its effect.",
  retried: "Replaced by a retry with another nonce.",
};

const progressDescription =
  'How far it is, for people: "12 of 64 confirmations, about 100 s", by the recent block time; null once it is confirmed or has ended.';

/** GraphQL writes enum values in capitals. */
type StateName = Uppercase<ChainRequest["state"]>;

/** The states of everything that is sent to a chain: deployments and updates alike. */
const stateType = oncePerBuilder((builder) =>
  builder.enumType("DeploymentState", {
    description: "How far a deployment, an update or a mint request is on its way to the chain.",
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
      description: "How far the request is on its way to the chain.",
      resolve: ({ state }) => state.toUpperCase() as StateName,
    }),
    holdReason: t.string({
      nullable: true,
      description: "A code for why it does not go on now, such as fee or budget; null while nothing holds it up.",
      resolve: ({ holdReason }) => holdReason,
    }),
    transactionHash: t.field({
      type: "Hex",
      nullable: true,
      description: "The hash of the mined transaction, else of the newest signed one; null before the signature.",
      resolve: ({ transactionHash }) => transactionHash,
    }),
    transactionUrl: t.string({
      nullable: true,
      description: "A link to the transaction in the chain's block explorer; null before the signature.",
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
      description: "The most that the transaction would pay for a unit of gas, in wei.",
      resolve: ({ maxFeePerGasWei }) => maxFeePerGasWei,
    }),
    costWei: t.field({
      type: "Wei",
      description: "What it would cost at the fees of now, in wei.",
      resolve: ({ costWei }) => costWei,
    }),
    maxCostWei: t.field({
      type: "Wei",
      description: "What it could cost at most, in wei.",
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
        description: "The request as it is after the call; null when there are user errors.",
        resolve: ({ request }) => request as never,
      }),
    }),
  );
  builder.mutationField(name, (t) =>
    t.field({
      type: payload,
      nullable: true,
      description,
      args: { id: t.arg.id({ required: true, description: "The id of the request to take back." }) },
      resolve: async (_root, { id }, { services, caller }) =>
        await withUserErrors(caller(), async (account) => ({
          request: await cancelRequest(services, account, family, id),
        })),
    }),
  );
}
