import type { WriteFault } from "../fault.ts";
import { answersLists } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: "a list in another order, and no other endpoint",
  source: "emeraldpay/dshackle#148",
  hits: "all",
  play: answersLists((answers) => ({ json: answers.toReversed() })),
  alone: true,
  end: "one",
};
