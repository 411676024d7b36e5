import { type Hex, keccak256, stringToBytes } from "viem";
import { expect, test } from "vitest";
import { markHostileLogs } from "../../src/indexing/hostile-logs.ts";
import { consecutiveTopic, transferTopic, word, words } from "./hostile-cases.ts";

const place = { blockHash: word(1n), blockNumber: "0x1", address: "0x00000000000000000000000000000000000000aa" };
const range = (first: bigint, tokens: bigint): { topics: Hex[]; data: Hex } => ({
  topics: [consecutiveTopic, word(first), word(0n), word(9n)],
  data: words(first + tokens - 1n),
});

test("ranges of one contract in one block all reach the index, however many tokens they name together", () => {
  const logs = Array.from({ length: 30 }, (_, at) => ({ ...place, ...range(BigInt(at) * 10_000n, 10_000n) }));
  expect(markHostileLogs(logs)).toEqual(logs);
});

test("a contract with more than 10,000 logs of one movement in a block is left out there but for one marked log", () => {
  const logs = Array.from({ length: 10_001 }, (_, at) => ({
    ...place,
    topics: [transferTopic, word(0n), word(9n), word(BigInt(at))],
    data: "0x",
  }));
  expect(markHostileLogs(logs)).toHaveLength(1);
  expect(markHostileLogs(logs.slice(1))).toEqual(logs.slice(1));
});

test("a storm of a contract's updates of itself is one, and their texts are left out", () => {
  for (const [event, data] of [
    ["ContractURIUpdated()", "0x"],
    ["ContractURIUpdated(string,string)", words(64n, 96n, 0n, 0n)],
  ] as const) {
    const topic = keccak256(stringToBytes(event));
    const logs = Array.from({ length: 65 }, () => ({ ...place, topics: [topic, word(1n)], data: words(7n) }));
    expect(markHostileLogs(logs)).toEqual([{ ...place, topics: [topic], data }]);
    const others = logs.map((log, at) => ({ ...log, address: word(BigInt(at)) }));
    expect(markHostileLogs(others)).toHaveLength(65);
  }
});
