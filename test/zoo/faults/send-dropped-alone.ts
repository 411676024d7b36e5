import { keccak256 } from "viem";
import type { WriteFault } from "../fault.ts";
import { firstTimes } from "../plays.ts";

export const fault: WriteFault = {
  kind: "write",
  name: "the first two are answered with their hashes, and dropped; no other endpoint",
  source: "ethereum/go-ethereum#31528",
  hits: ["eth_sendRawTransaction"],
  play: firstTimes(2, () => ({ calls }) => ({
    answers: calls.map(({ params }) => ({ result: keccak256(String(params[0]) as `0x${string}`) })),
  })),
  alone: true,
  end: "one",
};
