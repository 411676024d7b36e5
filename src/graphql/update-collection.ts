import type { ObjectFieldBuilder } from "@pothos/core";
import { findChain } from "../chains.ts";
import { warnOfChecksums } from "../collections/check-deployment.ts";
import { updateFields } from "../collections/deployment-input.ts";
import { withFieldNames } from "../collections/problems.ts";
import {
  type CollectionUpdate,
  changesOf,
  collectionUpdates,
  planUpdate,
  type UpdateCollectionResult,
  type UpdatePlan,
  updateCollection,
} from "../collections/update-collection.ts";
import type { Page } from "../nfts/page.ts";
import { renamerOf } from "../requests/fields.ts";
import { getRequest, listRequests } from "../requests/requests.ts";
import { type Builder, chainArg, sharedDescriptions, type Types, writtenInput } from "./builder.ts";
import { collectionType, loadCollection } from "./collection-type.ts";
import { connectionCost, connectionOf, forwardArgs } from "./connection.ts";
import { inputTypeOf, readInput } from "./inputs.ts";
import { addCancel, costFields, progressField, requestFields } from "./request-fields.ts";
import { payloadType, withUserErrors } from "./user-errors.ts";
import { viewerType } from "./viewer.ts";

/** The plan of a dry run; otherwise the update and its key. */
type Outcome = Partial<UpdateCollectionResult> & { plan?: UpdatePlan };

/** Updates of a deployed collection: reveal, mint starts, presale list, royalties and freeze. */
export function addUpdateCollection(builder: Builder): void {
  const update = builder.objectRef<CollectionUpdate>("CollectionUpdate").implement({
    description: "A change of a collection's settings, from the request to the chain.",
    fields: (t) => ({
      ...requestFields(builder, t),
      collection: t.field({
        type: collectionType(builder),
        nullable: true,
        description: "The collection that is changed.",
        resolve: async ({ chain, contract }, _args, context) => await loadCollection(context, chain, contract),
      }),
      progress: progressField(t),
      ...changedFields(t),
    }),
  });
  const input = inputTypeOf(
    builder,
    "UpdateCollectionInput",
    "What to change of a collection; settings that are absent stay as they are.",
    updateFields,
  );
  const plan = builder.objectRef<UpdatePlan>("UpdatePlan").implement({
    description: "What an update would cost; nothing of it was stored or spent.",
    fields: (t) => costFields(t),
  });
  const payload = payloadType<Outcome>(builder, "UpdateCollectionPayload", "`updateCollection`", (t) => ({
    update: t.expose("update", {
      type: update,
      nullable: true,
      description: "The update, signed and stored: its transaction is sent until it is mined. Null with `dryRun`.",
    }),
    plan: t.expose("plan", {
      type: plan,
      nullable: true,
      description: "What the update would cost; only with `dryRun`.",
    }),
    warnings: t.stringList({
      description: "What is legal in the update, but probably not meant, in English; only with `dryRun`.",
      resolve: (outcome) => outcome.plan?.warnings ?? [],
    }),
    idempotencyKey: t.exposeString("idempotencyKey", {
      nullable: true,
      description: "The key of this request, yours or a derived one; null with `dryRun` and user errors.",
    }),
  }));
  builder.mutationField("updateCollection", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description:
        "Changes a collection of the account: reveal, mint starts, presale list, royalties, freeze. One update per collection is under way at a time; each changes what it names and nothing else.",
      args: {
        input: t.arg({ type: input, required: true, description: "The collection, and what to change of it." }),
        dryRun: t.arg.boolean({ defaultValue: false, description: sharedDescriptions.dryRun }),
      },
      resolve: async (_root, { input: given, dryRun }, context, info) =>
        await withUserErrors(context.caller(), async (caller) => {
          const request = readInput(updateFields, given);
          const { services } = context;
          const run = async (): Promise<Outcome> => {
            if (!dryRun) return await updateCollection(services, caller, request);
            const plan = await planUpdate(services, caller, request);
            const { royaltiesAddress } = writtenInput(info, context);
            return { plan: { ...plan, warnings: [...plan.warnings, ...warnOfChecksums({ royaltiesAddress })] } };
          };
          return await withFieldNames(run(), (field) =>
            field === "address" ? "collection" : renamerOf("graphql", updateFields)(field),
          );
        }),
    }),
  );
  addCancel(builder, collectionUpdates, update, {
    name: "cancelCollectionUpdate",
    shown: "update",
    description:
      "Takes an update back while the chain has not decided: at once before it has a nonce; later the nonce is used for a transaction that does nothing, if that one is faster.",
  });
  builder.objectField(viewerType(builder), "collectionUpdate", (t) =>
    t.field({
      type: update,
      nullable: true,
      description: "One update that the caller's account asked for.",
      args: { id: t.arg.id({ required: true, description: "The id of the update." }) },
      resolve: async (_root, { id }, { services, caller }) =>
        await getRequest(services, await caller(), collectionUpdates, { id }),
    }),
  );
  const connection = connectionOf<CollectionUpdate, Page<CollectionUpdate>>(builder, "CollectionUpdate", update);
  builder.objectField(viewerType(builder), "collectionUpdates", (t) =>
    t.field({
      type: connection,
      nullable: true,
      description: "The updates of one collection that the caller's account asked for, newest first.",
      args: {
        chain: t.arg(chainArg),
        collection: t.arg({ type: "Address", required: true, description: "The address of the collection." }),
        ...forwardArgs(builder),
      },
      complexity: connectionCost,
      resolve: async (_root, { chain, collection, first, after }, { services, caller }) =>
        await listRequests(services, await caller(), collectionUpdates, {
          of: { chain: findChain(services.chains, chain), contract: collection },
          first: first ?? 20,
          after: after ?? undefined,
        }),
    }),
  );
}

/** What an update changes; null: unchanged. */
function changedFields(t: ObjectFieldBuilder<Types, CollectionUpdate>) {
  const timeOf = (seconds: bigint | undefined) => (seconds === undefined ? null : new Date(Number(seconds) * 1_000));
  return {
    baseUri: t.string({
      nullable: true,
      description: "The new base URI, empty where the artwork is hidden again; null where it stays as it is.",
      resolve: (update) => changesOf(update).baseUri ?? null,
    }),
    prerevealTokenUri: t.string({
      nullable: true,
      description: "The new metadata URI of every token until the reveal; null where it stays as it is.",
      resolve: (update) => changesOf(update).prerevealTokenUri ?? null,
    }),
    publicMintStart: t.field({
      type: "DateTime",
      nullable: true,
      description: "The new start of the public sale; null where it stays as it is.",
      resolve: (update) => timeOf(changesOf(update).publicMintStart),
    }),
    presaleMintStart: t.field({
      type: "DateTime",
      nullable: true,
      description: "The new start of the presale; null where it stays as it is.",
      resolve: (update) => timeOf(changesOf(update).presaleMintStart),
    }),
    presaleMerkleRoot: t.field({
      type: "Hex",
      nullable: true,
      description: "The Merkle root of the new presale list; null where it stays as it is.",
      resolve: (update) => changesOf(update).presaleMerkleRoot ?? null,
    }),
    royaltiesBps: t.int({
      nullable: true,
      description: "The new royalties in basis points: 250 is 2.5 percent; null where they stay as they are.",
      resolve: (update) => {
        const { royaltiesBps } = changesOf(update);
        return royaltiesBps === undefined ? null : Number(royaltiesBps);
      },
    }),
    royaltiesAddress: t.field({
      type: "Address",
      nullable: true,
      description: "The new address that gets royalties; null where it stays as it is.",
      resolve: (update) => changesOf(update).royaltiesAddress ?? null,
    }),
    freezesMetadata: t.boolean({
      description: "Whether it freezes the collection for good.",
      resolve: (update) => changesOf(update).metadataUpdatable === false,
    }),
  };
}
