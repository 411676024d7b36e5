import type { WriteFault } from "../fault.ts";

export const fault: WriteFault = {
  kind: "write",
  name: '"nonce too low", and the transaction is in a block',
  source: "ethers-io/ethers.js#4186",
  hits: ["eth_sendRawTransaction"],
  play:
    () =>
    async ({ calls, honest }) => {
      await honest(calls);
      return { answers: calls.map(() => ({ error: { code: -32_000, message: "nonce too low" } })) };
    },
  end: "one",
};
