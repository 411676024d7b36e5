import { type EventFilterInput, readFilter, readPlace } from "../events/event-input.ts";
import { openStream, type StreamItem } from "../events/open-stream.ts";
import { type Builder, type GraphQLContext, oncePerBuilder, sessionOf } from "./builder.ts";

/** Which events a stream or an endpoint gets. */
export const eventFilterType = oncePerBuilder((builder) =>
  builder.inputType("EventFilter", {
    description: "Which events; a list that is absent or empty does not narrow.",
    fields: (t) => ({
      types: t.stringList({ description: "Names or beginnings: `nft.transfer` brings its retractions too." }),
      chains: t.field({ type: ["ChainName"] }),
      contracts: t.field({ type: ["Address"] }),
      accounts: t.field({ type: ["Address"], description: "Sender or receiver of a movement." }),
      tokenIds: t.field({ type: ["TokenId"] }),
      finality: t.string({ description: "latest (default), safe or finalized: when a movement is told." }),
    }),
  }),
);

type Given = Omit<EventFilterInput, "tokenIds"> & { tokenIds?: readonly (bigint | string)[] | null | undefined };

/** A filter as the use cases take it: ids as decimal text. */
export function textsOf(filter: Given | null | undefined): EventFilterInput {
  return { ...filter, tokenIds: filter?.tokenIds?.map(String) };
}

/** Streams of events: the same as `GET /v1/events`, with the place to resume from in each payload. */
export function addEvents(builder: Builder): void {
  const filter = eventFilterType(builder);
  const event = builder.objectRef<StreamItem>("Event").implement({
    description: "One event, as webhooks and `GET /v1/events` tell it.",
    fields: (t) => ({
      cursor: t.string({
        description: "Pass it as `after` to go on behind this event.",
        resolve: ({ sequence }) => String(sequence),
      }),
      type: t.string({
        description: "`events.expired`: the stream was resumed from before what is kept; read the state anew.",
        resolve: (item) => (item.kind === "event" ? item.event.row.type : "events.expired"),
      }),
      id: t.id({
        nullable: true,
        description: "The same event has the same id for ever.",
        resolve: (item) => (item.kind === "event" ? item.event.row.id : null),
      }),
      timestamp: t.field({
        type: "DateTime",
        nullable: true,
        resolve: (item) => (item.kind === "event" ? item.event.row.at : null),
      }),
      data: t.field({
        type: "JSON",
        nullable: true,
        description: "What `data` of a webhook's body is.",
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
  builder.subscriptionField("events", (t) =>
    t.field({
      type: event,
      description: "Events as they are committed, of everybody and of the caller's account.",
      args: { filter: t.arg({ type: filter }), after: t.arg.string() },
      subscribe: async (_root, args, context) => await open(context, textsOf(args.filter), args.after),
      resolve: (item: StreamItem) => item,
    }),
  );
  builder.subscriptionField("transfers", (t) =>
    t.field({
      type: event,
      description: "Movements of tokens, and what a reorganisation takes back of them.",
      args: { filter: t.arg({ type: filter }), after: t.arg.string() },
      subscribe: async (_root, args, context) =>
        await open(context, { ...textsOf(args.filter), types: ["nft.transfer"] }, args.after),
      resolve: (item: StreamItem) => item,
    }),
  );
}
