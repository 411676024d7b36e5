/**
 * How the RPC gateway tells the handlers that it changed a log: in the unused upper bytes of an
 * address topic, which no ABI encoder fills. A contract that fills them itself only says so of itself.
 */
const marker = (1n << 96n) - 1n;
const kinds = ["undecodable", "suspended"] as const;
export type Mark = (typeof kinds)[number];

export function markTopic(mark: Mark, count: number): `0x${string}` {
  const low = (BigInt(kinds.indexOf(mark)) << 64n) | BigInt(count);
  return `0x${((marker << 160n) | low).toString(16)}`;
}

/** @returns null for a topic that is not marked. */
export function readMark(word: bigint): { mark: Mark; count: bigint } | null {
  const mark = kinds[Number((word >> 64n) & 0xffn)];
  return word >> 160n === marker && mark ? { mark, count: word & ((1n << 64n) - 1n) } : null;
}

/** Most tokens that one log, and all logs of one event and contract in one block, may move. */
export const maxTokensPerLog = 10_000;
