import type { WriteFault } from "../fault.ts";

export const fault: WriteFault = {
  kind: "write",
  name: '"already known", and the transaction is in the pool',
  source: "ethers-io/ethers.js#4186",
  hits: ["eth_sendRawTransaction"],
  play:
    () =>
    async ({ calls, honest }) => {
      await honest(calls);
      return { answers: calls.map(() => ({ error: { code: -32_000, message: "already known" } })) };
    },
  end: "one",
};
