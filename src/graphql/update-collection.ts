import type { Address } from "viem";
import { warnOfChecksums } from "../collections/check-deployment.ts";
import { withFieldNames } from "../collections/problems.ts";
import {
  type CollectionUpdate,
  collectionUpdates,
  planUpdate,
  type UpdateCollectionResult,
  type UpdatePlan,
  updateCollection,
} from "../collections/update-collection.ts";
import { readProgress } from "../requests/progress.ts";
import { cancelRequest, getRequest } from "../requests/requests.ts";
import type { Builder } from "./builder.ts";
import { collectionType, loadCollection } from "./collection-type.ts";
import { progressDescription, type StateName, type StateRef } from "./deployment-type.ts";
import { type UserError, userErrorType, withUserErrors } from "./user-errors.ts";
import { viewerType } from "./viewer.ts";
import { writtenInput } from "./written-input.ts";

/** Of a dry run its plan, otherwise the update and its key. */
type Outcome = Partial<UpdateCollectionResult> & { plan?: UpdatePlan };

/** Reveal, mint starts, presale list, royalties and the freeze of a collection that stands. */
export function addUpdateCollection(builder: Builder, state: StateRef): void {
  const update = builder.objectRef<CollectionUpdate>("CollectionUpdate").implement({
    description: "A change of a collection's settings, from the request to the chain.",
    fields: (t) => ({
      id: t.exposeID("id"),
      chain: t.field({ type: "ChainName", resolve: ({ chain }) => chain.name }),
      collection: t.field({
        type: collectionType(builder),
        nullable: true,
        resolve: async ({ chain, contract }, _args, context) => await loadCollection(context, chain, contract),
      }),
      state: t.field({ type: state, resolve: (root) => root.state.toUpperCase() as StateName }),
      holdReason: t.exposeString("holdReason", { nullable: true, description: "Why it does not go on now." }),
      transactionHash: t.field({
        type: "Hex",
        nullable: true,
        description: "The mined transaction, else the newest signed one; null before the signature.",
        resolve: ({ transactionHash }) => transactionHash,
      }),
      transactionUrl: t.string({
        nullable: true,
        resolve: ({ chain, transactionHash }) => transactionHash && `${chain.explorerTxUrl}/${transactionHash}`,
      }),
      progress: t.string({
        nullable: true,
        description: progressDescription,
        resolve: async (root, _args, { services }) => (await readProgress(services, root))?.text ?? null,
      }),
      createdAt: t.expose("createdAt", { type: "DateTime" }),
      updatedAt: t.expose("updatedAt", { type: "DateTime" }),
    }),
  });
  const input = builder.inputType("UpdateCollectionInput", {
    description: "Absent members stay as they are.",
    fields: (t) => ({
      chain: t.field({ type: "ChainName", required: true }),
      collection: t.field({ type: "Address", required: true }),
      baseUri: t.string({ description: "Reveals the collection; an empty text hides it again." }),
      prerevealTokenUri: t.string(),
      publicMintStart: t.field({ type: "DateTime" }),
      presaleMintStart: t.field({ type: "DateTime" }),
      allowlist: t.field({ type: ["Address"], description: "Replaces the whole presale list; empty: nobody." }),
      royaltiesBps: t.int({ description: "500 is 5 %." }),
      royaltiesAddress: t.field({ type: "Address" }),
      freezeMetadata: t.boolean({ description: "True freezes the collection for good." }),
      idempotencyKey: t.string({ description: "Requests with one key are one update, for ever." }),
    }),
  });
  const plan = builder.objectRef<UpdatePlan>("UpdatePlan").implement({
    description: "What an update would do.",
    fields: (t) => ({
      gas: t.field({ type: "Uint256", resolve: ({ gas }) => gas }),
      maxFeePerGasWei: t.field({ type: "Wei", resolve: ({ maxFeePerGasWei }) => maxFeePerGasWei }),
      costWei: t.field({ type: "Wei", description: "At the fees of now.", resolve: ({ costWei }) => costWei }),
      maxCostWei: t.field({ type: "Wei", description: "At most.", resolve: ({ maxCostWei }) => maxCostWei }),
    }),
  });
  const payload = builder
    .objectRef<{ result: Outcome | null; userErrors: readonly UserError[] }>("UpdateCollectionPayload")
    .implement({
      fields: (t) => ({
        update: t.field({
          type: update,
          nullable: true,
          description: "Signed and stored: its transaction is sent until it is mined.",
          resolve: ({ result }) => result?.update ?? null,
        }),
        plan: t.field({
          type: plan,
          nullable: true,
          description: "With `dryRun`: what the update would do.",
          resolve: ({ result }) => result?.plan ?? null,
        }),
        warnings: t.stringList({
          description: "With `dryRun`: legal, but probably not meant.",
          resolve: ({ result }) => result?.plan?.warnings ?? [],
        }),
        idempotencyKey: t.string({ nullable: true, resolve: ({ result }) => result?.idempotencyKey ?? null }),
        userErrors: t.field({ type: [userErrorType(builder)], resolve: ({ userErrors }) => [...userErrors] }),
      }),
    });
  builder.mutationField("updateCollection", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description:
        "Changes a collection of the account: reveal, mint starts, presale list, royalties, freeze. One update per collection is under way at a time; each changes what it names and nothing else.",
      args: {
        input: t.arg({ type: input, required: true }),
        dryRun: t.arg.boolean({
          defaultValue: false,
          description: "Check everything, simulate, and say what it would cost; nothing is stored or spent.",
        }),
      },
      resolve: async (_root, { input: given, dryRun }, context, info) => {
        const caller = await context.caller();
        const sent = Object.fromEntries(Object.entries(given).filter(([, value]) => value != null)) as {
          [K in keyof typeof given]: NonNullable<(typeof given)[K]>;
        };
        const { royaltiesBps, collection, ...rest } = sent;
        const request = {
          ...rest,
          collection: collection as Address,
          ...(royaltiesBps === undefined ? {} : { royaltiesBps: BigInt(royaltiesBps) }),
        };
        const { services } = context;
        const run = async (): Promise<Outcome> => {
          if (!dryRun) return await updateCollection(services, caller, request);
          const plan = await planUpdate(services, caller, request);
          const { royaltiesAddress } = writtenInput(info, context);
          return { plan: { ...plan, warnings: [...plan.warnings, ...warnOfChecksums({ royaltiesAddress })] } };
        };
        return await withUserErrors(() =>
          withFieldNames(run(), (field) => (field === "address" ? "collection" : field)),
        );
      },
    }),
  );
  const cancelled = builder
    .objectRef<{ result: CollectionUpdate | null; userErrors: readonly UserError[] }>("CancelCollectionUpdatePayload")
    .implement({
      fields: (t) => ({
        update: t.field({ type: update, nullable: true, resolve: ({ result }) => result }),
        userErrors: t.field({ type: [userErrorType(builder)], resolve: ({ userErrors }) => [...userErrors] }),
      }),
    });
  builder.mutationField("cancelCollectionUpdate", (t) =>
    t.field({
      type: cancelled,
      nullable: true,
      description:
        "Takes an update back while the chain has not decided: at once before it has a nonce; later the nonce is used for a transaction that does nothing, if that one is faster.",
      args: { id: t.arg.id({ required: true }) },
      resolve: async (_root, { id }, context) => {
        const caller = await context.caller();
        return await withUserErrors(() => cancelRequest(context.services, caller, collectionUpdates, id));
      },
    }),
  );
  builder.objectField(viewerType(builder), "collectionUpdate", (t) =>
    t.field({
      type: update,
      nullable: true,
      description: "One update that the caller's account asked for.",
      args: { id: t.arg.id({ required: true }) },
      resolve: async (_root, { id }, { services, caller }) =>
        await getRequest(services, await caller(), collectionUpdates, { id }),
    }),
  );
}
