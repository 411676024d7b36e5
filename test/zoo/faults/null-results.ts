import type { ReadFault } from "../fault.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "null for every result",
  source: "ethers-io/ethers.js#841",
  hits: "all",
  play:
    () =>
    ({ calls }) => ({ answers: calls.map(() => ({ result: null })) }),
  ends: { proofs: "right", logs: "right" },
};
