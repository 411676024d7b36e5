import type { Hex } from "viem";
import type { Bytea } from "../../schema/bytea-column.ts";
import { readMark } from "../../schema/marked-logs.ts";

/** The parts of a log that decoding needs; nothing that Ponder decoded is trusted. */
export interface RawLog {
  topics: readonly Hex[];
  data: Hex;
}

/** Why a log became no ledger row; its text is stored. */
export class Undecodable extends Error {}

export function topicWord(log: RawLog, index: number): bigint {
  const topic = log.topics[index];
  if (topic === undefined || topic === null) throw new Undecodable(`topic ${index} is missing`);
  return BigInt(topic);
}

const nothingAbove = `0x${"0".repeat(24)}`;

/** @throws Undecodable when the upper 12 bytes are not zero: no ABI encoder writes such an address. */
export function topicAddress(log: RawLog, index: number): Bytea {
  const topic = log.topics[index];
  if (topic?.length === 66 && topic.startsWith(nothingAbove)) return `\\x${topic.slice(26)}`;
  const word = topicWord(log, index);
  const marked = readMark(word);
  if (marked?.mark === "suspended")
    throw new Undecodable(`suspended: moves ${marked.count} tokens in one block, this log among them`);
  if (marked) throw new Undecodable(`${marked.count} bytes of data that do not decode`);
  throw new Undecodable(`topic ${index} is not an address`);
}

export function dataWord(log: RawLog, index: number): bigint {
  const word = log.data.slice(2 + index * 64, 2 + (index + 1) * 64);
  if (word.length !== 64) throw new Undecodable(`data ends before word ${index}`);
  return BigInt(`0x${word}`);
}

/** The dynamic array of uint256 whose offset is in word `index` of the data. */
export function dataArray(log: RawLog, index: number, maxLength: number): bigint[] {
  const offset = dataWord(log, index);
  if (offset % 32n !== 0n || offset > BigInt(log.data.length)) throw new Undecodable("array offset is not usable");
  const start = Number(offset / 32n);
  const length = dataWord(log, start);
  if (length > BigInt(maxLength)) throw new Undecodable(`array has ${length} entries, more than ${maxLength}`);
  return Array.from({ length: Number(length) }, (_, position) => dataWord(log, start + 1 + position));
}
