import type { ReadFault } from "../fault.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "no id in the answer",
  source: "NethermindEth/nethermind#1439",
  hits: "all",
  play:
    () =>
    async ({ calls, honest }) => ({ answers: (await honest(calls)).map((one) => ({ ...one, id: undefined })) }),
  ends: { proofs: "right", logs: "right" },
};
