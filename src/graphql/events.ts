import { type EventFilterInput, filterFields, readFilter, readPlace } from "../events/event-input.ts";
import { openStream, type StreamItem } from "../events/open-stream.ts";
import { type Builder, type GraphQLContext, oncePerBuilder, sessionOf } from "./builder.ts";
import { inputTypeOf, readInput } from "./inputs.ts";

/** Selects the events that a stream or an endpoint gets. */
export const eventFilterType = oncePerBuilder((builder) =>
  inputTypeOf(
    builder,
    "EventFilter",
    "Which events to send; a list that is absent or empty lets all through. Only chains and types narrow `chain.finalized`.",
    filterFields,
  ),
);

/** Event streams: the same events as `GET /v1/events`; each payload has the position to resume from. */
export function addEvents(builder: Builder): void {
  const filter = eventFilterType(builder);
  const event = builder.objectRef<StreamItem>("Event").implement({
    description: "One event, the same as in webhooks and `GET /v1/events`.",
    fields: (t) => ({
      cursor: t.string({
        description: "The place of this event in the stream: pass it as `after` to go on behind it.",
        resolve: ({ sequence }) => String(sequence),
      }),
      type: t.string({
        description:
          "The type of the event, such as nft.transfer; `events.expired`: events before this one are gone, read the state anew.",
        resolve: (item) => (item.kind === "event" ? item.event.row.type : "events.expired"),
      }),
      id: t.id({
        nullable: true,
        description:
          "The id of the event, which stays the same; skip an event whose id you have. Null for `events.expired`.",
        resolve: (item) => (item.kind === "event" ? item.event.row.id : null),
      }),
      timestamp: t.field({
        type: "DateTime",
        nullable: true,
        description: "When the event was written; null for `events.expired`.",
        resolve: (item) => (item.kind === "event" ? item.event.row.at : null),
      }),
      data: t.field({
        type: "JSON",
        nullable: true,
        description: "The members of the event, the same as `data` in a webhook's body; null for `events.expired`.",
        resolve: (item) =>
          item.kind === "event" ? (JSON.parse(item.event.body) as { data: Record<string, unknown> }).data : null,
      }),
    }),
  });
  const open = async (context: GraphQLContext, input: EventFilterInput, after: string | null | undefined) =>
    await openStream(
      context.services,
      await sessionOf(context),
      readFilter(context.services, input),
      after ? readPlace(after) : null,
    );
  const streamArgs = builder.args((t) => ({
    filter: t.field({ type: filter, description: "Which events to send; all when absent." }),
    after: t.string({
      description: "The `cursor` of the last event you have, to resume behind it; events from now on when absent.",
    }),
  }));
  builder.subscriptionField("events", (t) =>
    t.field({
      type: event,
      description: "Events as they happen: of the chains, and of the caller's own requests.",
      args: streamArgs,
      subscribe: async (_root, args, context) =>
        await open(context, readInput(filterFields, args.filter ?? {}), args.after),
      resolve: (item: StreamItem) => item,
    }),
  );
  builder.subscriptionField("transfers", (t) =>
    t.field({
      type: event,
      description:
        "Transfers of tokens as they happen, and retractions of those that a reorganisation takes back; `types` of the filter does not count.",
      args: streamArgs,
      subscribe: async (_root, args, context) =>
        await open(context, { ...readInput(filterFields, args.filter ?? {}), types: ["nft.transfer"] }, args.after),
      resolve: (item: StreamItem) => item,
    }),
  );
}
