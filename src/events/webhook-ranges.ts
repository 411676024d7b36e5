import type { WebhookRow } from "./webhook-record.ts";

/** A part of the order of events that is being sent to an endpoint. */
export interface Range {
  /** Events up to this one are done, or stand in rows of their own. */
  cursor: bigint;
  /** So do these, which come after it: what was sent beside one that was not. */
  ahead: readonly bigint[];
  /** The last one. */
  upto: bigint;
}

/** Movements that are sent again. */
export interface Replay extends Range {
  /** Of these blocks only. */
  blocks: readonly [from: bigint, to: bigint] | null;
}

/** As `service.webhook.replays` has it: JSON has no whole numbers of this size. */
interface StoredReplay {
  cursor: string;
  ahead: string[];
  upto: string;
  fromBlock: string | null;
  toBlock: string | null;
}

/** What waits for an endpoint by its place in the order; null: nothing. */
export function waitingRange({ cursor, ahead, wanted, since }: WebhookRow): Range | null {
  const from = cursor > since ? cursor : since;
  return wanted > from ? { cursor: from, ahead: ahead.map(BigInt), upto: wanted } : null;
}

/** What is to be sent again first; null: nothing. */
export function nextReplay({ replays }: WebhookRow): Replay | null {
  const [next] = replays as StoredReplay[];
  if (!next) return null;
  const { cursor, ahead, upto, fromBlock, toBlock } = next;
  return {
    ...{ cursor: BigInt(cursor), ahead: ahead.map(BigInt), upto: BigInt(upto) },
    blocks: fromBlock === null || toBlock === null ? null : [BigInt(fromBlock), BigInt(toBlock)],
  };
}

export function storedReplay({ cursor, ahead, upto, blocks }: Replay): StoredReplay {
  const [fromBlock, toBlock] = blocks?.map(String) ?? [];
  return {
    ...{ cursor: String(cursor), ahead: ahead.map(String), upto: String(upto) },
    ...{ fromBlock: fromBlock ?? null, toBlock: toBlock ?? null },
  };
}

/** What was read of a range: events in their order, all that there are up to `reached`. */
export interface Reading<Of extends Range = Range> {
  range: Of;
  reached: bigint;
  found: readonly bigint[];
}

/** The range after some of what was read is done. */
export function advanced<Of extends Range>({ range, reached, found }: Reading<Of>, done: ReadonlySet<bigint>): Of {
  const undone = found.find((sequence) => !done.has(sequence));
  const cursor = undone === undefined ? reached : undone - 1n;
  const ahead = [...range.ahead, ...found.filter((sequence) => done.has(sequence))];
  return { ...range, cursor, ahead: ahead.filter((sequence) => sequence > cursor) };
}
