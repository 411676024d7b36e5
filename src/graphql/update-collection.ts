import { warnOfChecksums } from "../collections/check-deployment.ts";
import { updateFields } from "../collections/deployment-input.ts";
import { withFieldNames } from "../collections/problems.ts";
import {
  type CollectionUpdate,
  collectionUpdates,
  planUpdate,
  type UpdateCollectionResult,
  type UpdatePlan,
  updateCollection,
} from "../collections/update-collection.ts";
import { renamerOf } from "../requests/fields.ts";
import { getRequest } from "../requests/requests.ts";
import { type Builder, sharedDescriptions, writtenInput } from "./builder.ts";
import { collectionType, loadCollection } from "./collection-type.ts";
import { inputTypeOf, readInput } from "./inputs.ts";
import { addCancel, costFields, progressField, requestFields } from "./request-fields.ts";
import { payloadType, withUserErrors } from "./user-errors.ts";
import { viewerType } from "./viewer.ts";

/** Of a dry run its plan, otherwise the update and its key. */
type Outcome = Partial<UpdateCollectionResult> & { plan?: UpdatePlan };

/** Reveal, mint starts, presale list, royalties and the freeze of a collection that stands. */
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
}
