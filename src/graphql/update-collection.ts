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
    description: "A change of a collection's settings, from the request to finality.",
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
    "The settings to change. Settings that are omitted stay as they are.",
    updateFields,
  );
  const plan = builder.objectRef<UpdatePlan>("UpdatePlan").implement({
    description: "The expected cost of an update. Nothing was stored or spent.",
    fields: (t) => costFields(t),
  });
  const payload = payloadType<Outcome>(builder, "UpdateCollectionPayload", "`updateCollection`", (t) => ({
    update: t.expose("update", {
      type: update,
      nullable: true,
      description: "The update, signed and stored; its transaction is sent until it is mined. Null with `dryRun`.",
    }),
    plan: t.expose("plan", {
      type: plan,
      nullable: true,
      description: "The expected cost of the update. Only with `dryRun`.",
    }),
    warnings: t.stringList({
      description: "Settings that are valid but possibly unintended, in English. Only with `dryRun`.",
      resolve: (outcome) => outcome.plan?.warnings ?? [],
    }),
    idempotencyKey: t.exposeString("idempotencyKey", {
      nullable: true,
      description:
        "The idempotency key of this request, given or derived. Null with `dryRun` and if there are user errors.",
    }),
  }));
  builder.mutationField("updateCollection", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description:
        "Changes a collection of your account: reveal, sale starts, presale list, royalties, freeze. Settings that are not given stay as they are. Updates of one collection run one at a time.",
      args: {
        input: t.arg({ type: input, required: true, description: "The collection and the settings to change." }),
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
      "Cancels an update that is not mined yet: at once if it has no nonce; otherwise an empty transaction with the same nonce is sent, and the update is cancelled if that one is mined first. Fails if a later update that includes its changes is signed.",
  });
  builder.objectField(viewerType(builder), "collectionUpdate", (t) =>
    t.field({
      type: update,
      nullable: true,
      description: "One update requested by your account.",
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
      description: "The updates of one collection requested by your account, newest first.",
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
      description: "The new base URI; empty if the artwork is hidden again. Null if it does not change.",
      resolve: (update) => changesOf(update).baseUri ?? null,
    }),
    prerevealTokenUri: t.string({
      nullable: true,
      description: "The new metadata URI that all tokens have until the reveal. Null if it does not change.",
      resolve: (update) => changesOf(update).prerevealTokenUri ?? null,
    }),
    publicMintStart: t.field({
      type: "DateTime",
      nullable: true,
      description: "The new start of the public sale. Null if it does not change.",
      resolve: (update) => timeOf(changesOf(update).publicMintStart),
    }),
    presaleMintStart: t.field({
      type: "DateTime",
      nullable: true,
      description: "The new start of the presale. Null if it does not change.",
      resolve: (update) => timeOf(changesOf(update).presaleMintStart),
    }),
    presaleMerkleRoot: t.field({
      type: "Hex",
      nullable: true,
      description: "The Merkle root of the new presale list. Null if it does not change.",
      resolve: (update) => changesOf(update).presaleMerkleRoot ?? null,
    }),
    royaltiesBps: t.int({
      nullable: true,
      description: "The new royalty in basis points: 250 is 2.5 %. Null if it does not change.",
      resolve: (update) => {
        const { royaltiesBps } = changesOf(update);
        return royaltiesBps === undefined ? null : Number(royaltiesBps);
      },
    }),
    royaltiesAddress: t.field({
      type: "Address",
      nullable: true,
      description: "The new address that receives royalties. Null if it does not change.",
      resolve: (update) => changesOf(update).royaltiesAddress ?? null,
    }),
    freezesMetadata: t.boolean({
      description: "Whether the update permanently freezes the collection.",
      resolve: (update) => changesOf(update).metadataUpdatable === false,
    }),
  };
}
