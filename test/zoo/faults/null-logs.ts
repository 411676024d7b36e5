import type { ReadFault } from "../fault.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "null for logs",
  source: "ethers-io/ethers.js#841",
  hits: ["eth_getLogs"],
  play:
    () =>
    ({ calls }) => ({ answers: calls.map(() => ({ result: null })) }),
  ends: { logs: "right" },
};
