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
import { getRequest } from "../requests/requests.ts";
import { type Builder, present, writtenInput } from "./builder.ts";
import { collectionType, loadCollection } from "./collection-type.ts";
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
        resolve: async ({ chain, contract }, _args, context) => await loadCollection(context, chain, contract),
      }),
      progress: progressField(t),
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
    fields: (t) => costFields(t),
  });
  const payload = payloadType<Outcome>(builder, "UpdateCollectionPayload", (t) => ({
    update: t.expose("update", {
      type: update,
      nullable: true,
      description: "Signed and stored: its transaction is sent until it is mined.",
    }),
    plan: t.expose("plan", {
      type: plan,
      nullable: true,
      description: "With `dryRun`: what the update would do.",
    }),
    warnings: t.stringList({
      description: "With `dryRun`: legal, but probably not meant.",
      resolve: (outcome) => outcome.plan?.warnings ?? [],
    }),
    idempotencyKey: t.exposeString("idempotencyKey", { nullable: true }),
  }));
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
      resolve: async (_root, { input: given, dryRun }, context, info) =>
        await withUserErrors(context.caller(), async (caller) => {
          const { royaltiesBps, ...rest } = present(given);
          const request = {
            ...rest,
            royaltiesBps: royaltiesBps === undefined ? undefined : BigInt(royaltiesBps),
          };
          const { services } = context;
          const run = async (): Promise<Outcome> => {
            if (!dryRun) return await updateCollection(services, caller, request);
            const plan = await planUpdate(services, caller, request);
            const { royaltiesAddress } = writtenInput(info, context);
            return { plan: { ...plan, warnings: [...plan.warnings, ...warnOfChecksums({ royaltiesAddress })] } };
          };
          return await withFieldNames(run(), (field) => (field === "address" ? "collection" : field));
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
      args: { id: t.arg.id({ required: true }) },
      resolve: async (_root, { id }, { services, caller }) =>
        await getRequest(services, await caller(), collectionUpdates, { id }),
    }),
  );
}
