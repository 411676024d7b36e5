import type { WriteFault } from "../fault.ts";
import { answersLists } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: "a list with the first member alone, and no other endpoint",
  source: "ConsenSys-archive/ganache-ui#320",
  hits: "all",
  play: answersLists((answers) => ({ json: answers.slice(0, 1) })),
  alone: true,
  end: "one",
};
