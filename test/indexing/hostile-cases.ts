import { readFileSync } from "node:fs";
import { type Hex, keccak256, pad, stringToBytes, toHex } from "viem";
import { type CompiledContract, compileSolidity } from "../setup/compile.ts";
import { SeededGenerator } from "../setup/seeded-generator.ts";

export interface Log {
  topics: Hex[];
  data: Hex;
}

interface Call {
  name: "say" | "sayInRevertedCall" | "flood" | "storm" | "bear" | "rise";
  args: unknown[];
}

/** What one hostile contract does in one block, and what the index shall say of it afterwards. */
export interface HostileCase {
  name: string;
  call: Call;
  /** In a transaction of its own, after the first. */
  later?: Call;
  /** Rows are looked for at the contract that it makes and unmakes, not at its own address. */
  atPhoenix?: boolean;
  /** Rows of nft.transfers with the contract's address. */
  transfers: number;
  flags: Record<string, number>;
  /** Ids with their supply, those above zero. */
  holdings?: Record<string, string>;
  updates?: number;
}

const topic = (signature: string) => keccak256(stringToBytes(signature));
export const transferTopic = topic("Transfer(address,address,uint256)");
export const singleTopic = topic("TransferSingle(address,address,address,uint256,uint256)");
export const batchTopic = topic("TransferBatch(address,address,address,uint256[],uint256[])");
export const consecutiveTopic = topic("ConsecutiveTransfer(uint256,uint256,address,address)");
const uriTopic = topic("URI(string,uint256)");
const deployedTopic = topic("CollectionDeployed(bytes32,address,address)");
export const word = (value: bigint | Hex): Hex =>
  typeof value === "bigint" ? toHex(value, { size: 32 }) : pad(value, { size: 32 });
export const words = (...values: (bigint | Hex)[]): Hex => `0x${values.map((value) => word(value).slice(2)).join("")}`;
const max = 2n ** 256n - 1n;
const zero = word(0n);

/** The hostile and odd contracts that an index meets; numbers differ with the seed, the answers hold for all. */
export function hostileCases(seed: number): HostileCase[] {
  const random = new SeededGenerator(seed).below;
  const person = () => toHex(BigInt(1 + random(1_000_000)), { size: 20 });
  const id = BigInt(random(1_000_000));
  const [a, b, c] = [person(), toHex(2n ** 150n + BigInt(random(1000)), { size: 20 }), toHex(2n ** 151n, { size: 20 })];
  const moved = (from: Hex, to: Hex, tokenId = id, data: Hex = "0x"): Log => ({
    topics: [transferTopic, word(from), word(to), word(tokenId)],
    data,
  });
  const single = (from: Hex, to: Hex, amount: bigint, tokenId = id): Log => ({
    topics: [singleTopic, word(c), word(from), word(to)],
    data: words(tokenId, amount),
  });
  const batch = (data: Hex): Log => ({ topics: [batchTopic, word(c), zero, word(a)], data });
  const goodBatch = batch(words(64n, 160n, 2n, id, id + 1n, 2n, 3n, 4n));
  const say = (...logs: Log[]) => ({ name: "say" as const, args: [logs] });
  const none = "0x0000000000000000000000000000000000000000" as const;
  const extra = random(200);
  const nothing = { transfers: 0, flags: {}, holdings: {} };
  const one = { transfers: 1, flags: {}, holdings: { [String(id)]: "1" } };
  return [
    {
      name: "C1 flood of transfers",
      call: { name: "flood", args: [id, BigInt(10_001 + random(6_000))] },
      ...nothing,
      flags: { suspended: 1 },
    },
    {
      name: "C2 sender is not the owner",
      call: say(moved(none, a), moved(b, c)),
      transfers: 2,
      flags: { inconsistent: 1 },
      holdings: { [String(id)]: "1" },
    },
    {
      // Nobody approved that: the index keeps who sent the transaction.
      name: "C3 mint into another's wallet, and away from there",
      call: say(moved(none, b)),
      later: say(moved(b, c)),
      ...one,
      transfers: 2,
    },
    {
      name: "C4 ERC-20 transfer",
      call: say({ topics: [transferTopic, word(a), word(b)], data: words(id) }),
      ...nothing,
    },
    {
      name: "C5 extra data, nobody to nobody, to oneself",
      call: say(moved(none, a, id, words(1n, 2n)), moved(a, a), moved(none, none, id + 1n)),
      transfers: 3,
      flags: { inconsistent: 1 },
      holdings: { [String(id)]: "1" },
    },
    {
      name: "C6 dirty bytes above an address",
      call: say({ topics: [transferTopic, zero, word(max - BigInt(random(9))), word(id)], data: "0x" }),
      ...nothing,
      flags: { undecodable: 1 },
    },
    {
      name: "C7 lists of different lengths",
      call: say(batch(words(64n, 128n, 1n, id, 2n, 1n, 1n))),
      ...nothing,
      flags: { undecodable: 1 },
    },
    {
      name: "C8 aliased lists of 35,000 ids",
      call: say(batch(words(64n, 64n, 35_000n, id, 1n))),
      ...nothing,
      flags: { undecodable: 1 },
    },
    {
      name: "C9 absurd lengths, then a good batch",
      call: say(
        batch(words(64n, 128n, 2n ** 31n, id)),
        batch(words(64n, 128n, 2n ** 64n, id)),
        batch(words(2n ** 64n, 64n, 1n, id)),
        goodBatch,
      ),
      transfers: 2,
      flags: { undecodable: 3 },
      holdings: { [String(id)]: "3", [String(id + 1n)]: "4" },
    },
    {
      name: "C10 a range of 2^256 tokens and one of five",
      call: say(
        { topics: [consecutiveTopic, zero, zero, word(a)], data: words(max) },
        { topics: [consecutiveTopic, word(id), zero, word(b)], data: words(id + 4n) },
      ),
      transfers: 5,
      flags: { undecodable: 1 },
      holdings: Object.fromEntries(Array.from({ length: 5 }, (_, at) => [String(id + BigInt(at)), "1"])),
    },
    {
      name: "C11 amounts that overflow",
      call: say(single(none, a, max, max), single(none, a, max, max)),
      transfers: 2,
      flags: {},
      holdings: { [String(max)]: String(2n * max) },
    },
    {
      name: "C12 burn and mint again, mint of what exists, transfer after a burn",
      call: say(moved(none, a), moved(a, none), moved(none, b), moved(none, c), moved(c, none), moved(b, a)),
      transfers: 6,
      flags: { inconsistent: 2 },
      holdings: { [String(id)]: "1" },
    },
    {
      name: "C13 ERC-1155 balance below zero",
      call: say(single(a, b, 5n)),
      transfers: 1,
      flags: { inconsistent: 1 },
      holdings: { [String(id)]: "5" },
    },
    {
      name: "C14 transfers without indexed parameters",
      call: say({ topics: [transferTopic], data: words(a, b, id) }),
      ...nothing,
    },
    {
      name: "C15 both standards for one movement",
      call: say(moved(none, a), single(none, a, 1n)),
      transfers: 2,
      flags: {},
      holdings: { [String(id)]: "1" },
    },
    {
      // What died in its own transaction said nothing of its tokens' end.
      name: "C16 the same id at the same address after the contract destroyed itself",
      call: { name: "rise", args: [[moved(none, a), moved(none, a, id + 1n), moved(a, none, id + 1n)]] },
      later: { name: "rise", args: [[moved(none, b), moved(none, c, id + 1n)]] },
      atPhoenix: true,
      transfers: 5,
      flags: { inconsistent: 1 },
      holdings: { [String(id)]: "1", [String(id + 1n)]: "1" },
    },
    {
      name: "C17 texts that are huge, no text, or out of bounds",
      call: say(
        ...(
          [
            words(32n, 2n ** 40n),
            words(32n, 4n, `0x${"00ff00fe".padEnd(64, "0")}`),
            `0x${"e2".repeat(20_000 + extra)}`,
            "0x",
          ] as Hex[]
        ).map((data) => ({ topics: [uriTopic, word(id)], data })),
      ),
      ...nothing,
      updates: 4,
    },
    {
      name: "C18 data shorter than the event",
      call: say(
        { topics: [singleTopic, word(c), zero, word(a)], data: words(id) },
        { topics: [consecutiveTopic, word(id), zero, word(a)], data: "0x12" },
      ),
      ...nothing,
      flags: { undecodable: 2 },
    },
    { name: "C19 a view that orders a fetch", call: say(moved(none, b)), ...one },
    {
      name: "C20 unordered and unaligned list offsets",
      call: say(batch(words(128n, 64n, 1n, 7n, 1n, id)), batch(words(65n, 128n, 1n, id, 1n, 1n))),
      transfers: 1,
      flags: { undecodable: 1 },
      holdings: { [String(id)]: "7" },
    },
    {
      name: "C25 a batch of 9,000 ids without amounts, and one id announced",
      call: say(
        batch(
          words(
            ...[64n, 96n + 9_000n * 32n, 9_000n, ...Array.from({ length: 9_000 }, (_, at) => id + BigInt(at)), 9_000n],
            ...Array.from({ length: 9_000 }, (_, at) => (at === 5 ? 2n : 0n)),
          ),
        ),
        single(none, a, 0n),
      ),
      transfers: 2,
      flags: {},
      holdings: { [String(id + 5n)]: "2" },
    },
    {
      name: "C21 our factory's event",
      call: say({ topics: [deployedTopic, word(id), word(a), word(b)], data: "0x" }),
      ...nothing,
    },
    { name: "C22 logs of a reverted call", call: { name: "sayInRevertedCall", args: [[moved(none, a)]] }, ...nothing },
    {
      name: "C23 a thousand collections in one transaction",
      call: { name: "bear", args: [1_000n, [moved(none, a)]] },
      ...nothing,
    },
    {
      name: "C24 storm of metadata updates",
      call: { name: "storm", args: [100n + BigInt(extra)] },
      ...nothing,
      updates: 1,
    },
  ];
}

let compiled: CompiledContract | undefined;

export function hostileContract(): CompiledContract {
  const source = readFileSync(new URL("../fixtures/Hostile.sol", import.meta.url), "utf8");
  compiled ??= compileSolidity(source)["Hostile"];
  if (!compiled) throw new Error("Hostile was not compiled");
  return compiled;
}
