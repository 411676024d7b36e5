import type { EventFilterInput } from "../events/event-input.ts";
import { oncePerBuilder } from "./builder.ts";

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
