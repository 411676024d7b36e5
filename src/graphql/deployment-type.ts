import type { Deployment } from "../collections/deployment-input.ts";
import { readProgress } from "../requests/progress.ts";
import type { ChainRequest } from "../requests/requests.ts";
import type { Builder } from "./builder.ts";
import { collectionType, loadCollection } from "./collection-type.ts";
import { settingsFields } from "./settings-fields.ts";

const states: Record<ChainRequest["state"], string> = {
  queued: "Accepted; waits for a nonce.",
  held: "Waits until something changes: see holdReason.",
  assigned: "Has its nonce.",
  batched: "A mint in one transaction with other mints of its contract; it has an outcome of its own.",
  signed: "Its transaction is on disk; it will be sent until it is mined.",
  in_flight: "Sent.",
  mined: "In a block that may still be replaced: see progress.",
  mined_reverted: "Mined without success, in a block that may still be replaced.",
  mined_cancellation: "Cancelled by another transaction, in a block that may still be replaced.",
  confirmed: "The collection stands at its address.",
  finalized: "The collection stands and no reorganisation can take it back.",
  failed_onchain: "The chain refused it for good.",
  cancelled: "Cancelled before it took effect.",
  expired: "Could not be sent in time.",
  nonce_conflict: "Its nonce was used up without its effect.",
  retried: "Replaced by a retry with another nonce.",
};

export const progressDescription =
  'How far it is, for people: "12 of 64 confirmations, about 100 s", by the block time of late; null once it is confirmed or has ended.';

/** GraphQL writes enum values in capitals. */
export type StateName = Uppercase<ChainRequest["state"]>;

/** The states of anything the relay sends: deployments and updates alike. */
export function stateType(builder: Builder) {
  return builder.enumType("DeploymentState", {
    description: "How far a deployment or an update is.",
    values: Object.fromEntries(
      Object.entries(states).map(([name, description]) => [name.toUpperCase(), { description }]),
    ) as Record<StateName, { description: string }>,
  });
}

export type StateRef = ReturnType<typeof stateType>;

/** The type of one deployment: what was asked for and how far it is. */
export function deploymentType(builder: Builder, state: StateRef) {
  return builder.objectRef<Deployment>("Deployment").implement({
    description: "The deployment of one collection, from the request to the chain.",
    fields: (t) => ({
      id: t.exposeID("id"),
      chain: t.field({ type: "ChainName", resolve: ({ chain }) => chain.name }),
      state: t.field({ type: state, resolve: (deployment) => deployment.state.toUpperCase() as StateName }),
      holdReason: t.exposeString("holdReason", { nullable: true, description: "Why it does not go on now." }),
      transactionHash: t.field({
        type: "Hex",
        nullable: true,
        description: "The mined transaction, else the newest signed one; null before the signature.",
        resolve: (deployment) => deployment.transactionHash,
      }),
      transactionUrl: t.string({
        nullable: true,
        resolve: ({ chain, transactionHash }) => transactionHash && `${chain.explorerTxUrl}/${transactionHash}`,
      }),
      predictedAddress: t.field({
        type: "Address",
        description: "Where the collection will be. Send nothing there before `collection` is set.",
        resolve: ({ contract }) => contract,
      }),
      collection: t.field({
        type: collectionType(builder),
        nullable: true,
        description: "The collection that stands; null until the deployment is confirmed.",
        resolve: async ({ chain, confirmed, contract }, _args, context) =>
          confirmed ? await loadCollection(context, chain, contract) : null,
      }),
      block: t.field({
        type: "Uint256",
        nullable: true,
        description: "The block of the transaction.",
        resolve: (deployment) => deployment.block,
      }),
      confirmationsRequired: t.int({
        description: "Blocks that have to vouch for the transaction, its own being the first, before it is confirmed.",
        resolve: ({ chain }) => chain.confirmations,
      }),
      confirmations: t.field({
        type: "Uint256",
        nullable: true,
        description: "How many of them do; 0 while it is in no block, null while no node tells and once it has ended.",
        resolve: async (deployment, _args, { services }) =>
          (await readProgress(services, deployment))?.confirmations ?? null,
      }),
      progress: t.string({
        nullable: true,
        description: progressDescription,
        resolve: async (deployment, _args, { services }) => (await readProgress(services, deployment))?.text ?? null,
      }),
      ...settingsFields<Deployment>(t, ({ payload }) => payload),
      createdAt: t.expose("createdAt", { type: "DateTime" }),
      updatedAt: t.expose("updatedAt", { type: "DateTime" }),
    }),
  });
}

export type DeploymentRef = ReturnType<typeof deploymentType>;
