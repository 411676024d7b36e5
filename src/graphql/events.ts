import { type EventFilterInput, filterFields, readFilter, readPlace } from "../events/event-input.ts";
import { openStream, type StreamItem } from "../events/open-stream.ts";
import { type Builder, type GraphQLContext, oncePerBuilder, sessionOf } from "./builder.ts";
import { inputTypeOf, readInput } from "./inputs.ts";

/** Selects the events that a stream or an endpoint gets. */
export const eventFilterType = oncePerBuilder((builder) =>
  inputTypeOf(
    builder,
    "EventFilter",
    "Which events to send. A list that is omitted or empty matches all. `chain.finalized` is only filtered by chains and types.",
    filterFields,
  ),
);

/** Event streams: the same events as `GET /v1/events`; each payload has the position to resume from. */
export function addEvents(builder: Builder): void {
  const filter = eventFilterType(builder);
  const event = builder.objectRef<StreamItem>("Event").implement({
    description: "An event, as in webhooks and `GET /v1/events`.",
    fields: (t) => ({
      cursor: t.string({
        description: "The position of this event in the stream. Pass it as `after` to resume after it.",
        resolve: ({ sequence }) => String(sequence),
      }),
      type: t.string({
        description:
          "The type of the event, such as nft.transfer. `events.expired` means that earlier events are no longer stored: read the current state again.",
        resolve: (item) => (item.kind === "event" ? item.event.row.type : "events.expired"),
      }),
      id: t.id({
        nullable: true,
        description:
          "The id of the event. It never changes; skip an event whose id you already have. Null for `events.expired`.",
        resolve: (item) => (item.kind === "event" ? item.event.row.id : null),
      }),
      timestamp: t.field({
        type: "DateTime",
        nullable: true,
        description: "When the event was recorded. Null for `events.expired`.",
        resolve: (item) => (item.kind === "event" ? item.event.row.at : null),
      }),
      data: t.field({
        type: "JSON",
        nullable: true,
        description: "The members of the event, the same as `data` in a webhook message. Null for `events.expired`.",
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
    filter: t.field({ type: filter, description: "Which events to send. All events if omitted." }),
    after: t.string({
      description: "The `cursor` of the last event you have, to resume after it. Only new events if omitted.",
    }),
  }));
  builder.subscriptionField("events", (t) =>
    t.field({
      type: event,
      description: "Events as they happen: of the chains, and of your account's requests.",
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
        "Token transfers as they happen, and retractions of transfers that a reorganisation removes. The filter's `types` is ignored.",
      args: streamArgs,
      subscribe: async (_root, args, context) =>
        await open(context, { ...readInput(filterFields, args.filter ?? {}), types: ["nft.transfer"] }, args.after),
      resolve: (item: StreamItem) => item,
    }),
  );
}
