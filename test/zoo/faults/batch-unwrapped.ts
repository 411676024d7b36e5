import type { WriteFault } from "../fault.ts";
import { answersLists } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: "one answer in place of a list of one call, and no other endpoint",
  source: "Astn/JSON-RPC.NET#140",
  hits: "all",
  play: answersLists((answers) => ({ json: answers.length === 1 ? answers[0] : answers })),
  alone: true,
  end: "one",
};
