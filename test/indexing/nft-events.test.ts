import { expect, test } from "vitest";
import { nftEvents } from "../../schema/nft-events.ts";

test("who changes an event's inputs, as Ponder's decoder does, changes nobody else's", () => {
  for (const event of nftEvents) {
    const before = structuredClone(event.inputs);
    for (const input of event.inputs) Object.assign(input, { type: "bool" });
    expect(event.inputs).toEqual(before);
  }
});
