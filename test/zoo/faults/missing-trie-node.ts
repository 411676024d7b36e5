import type { ReadFault } from "../fault.ts";
import { says } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: '"missing trie node" for everything',
  source: "0xPolygon/bor#109",
  hits: "all",
  play: says(-32_000, "missing trie node 288259a570829264e76b2c58d4369b5a94f086018dc4409d1d0131405c5d1975 (path )"),
  ends: { proofs: "right", logs: "right" },
};
