import { keccak256 } from "viem";
import type { WriteFault } from "../fault.ts";

export const fault: WriteFault = {
  kind: "write",
  name: "answered with its hash, and dropped",
  source: "INFURA/infura#107",
  hits: ["eth_sendRawTransaction"],
  play:
    () =>
    ({ calls }) => ({
      answers: calls.map(({ params }) => ({ result: keccak256(String(params[0]) as `0x${string}`) })),
    }),
  end: "one",
};
