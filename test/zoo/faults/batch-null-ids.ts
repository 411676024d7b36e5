import type { WriteFault } from "../fault.ts";
import { answersLists } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: "null for ids in a list, and no other endpoint",
  source: "ethereum/go-ethereum#924",
  hits: "all",
  play: answersLists((answers) => ({ json: answers.map((one) => ({ ...one, id: null })) })),
  alone: true,
  end: "one",
};
