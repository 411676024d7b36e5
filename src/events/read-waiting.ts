import { filterCondition, filterOf } from "../outbox/event-filter.ts";
import type { EventRow } from "../outbox/event-row.ts";
import type { Services } from "../services.ts";
import { isFor, isForCondition, type RecentEvents } from "./match-webhooks.ts";
import { type ClaimedWebhook, filterOfRow, type WebhookRow } from "./webhook-record.ts";

/** The most messages to an endpoint under one claim. */
const deliveriesOfClaim = 40;
/** Events that one statement scans, and statements of one claim: so skipping events takes bounded time. */
const window = 4_000n;
const mostWindows = 10;

export interface Item {
  /** Id of its row in `service.webhook_delivery`; null: it has none yet. */
  id: bigint | null;
  /** Sequence of its event. */
  sequence: bigint | null;
  eventId: string;
  type: string;
  /** Key of the messages that are sent in order (`placeOf`). */
  place: string;
  attempts: number;
  /** Body of a message that is no event. */
  body: string | null;
  /** Null: it is no longer kept, or there is none. */
  event: EventRow | null;
}

/** A range of events that is being sent to an endpoint. */
export interface Range {
  /** Events up to this one are done, or have rows of their own. */
  cursor: bigint;
  /** Later events that are done as well: they were sent while an earlier one was not. */
  ahead: readonly bigint[];
  /** The last event of the range. */
  upto: bigint;
}

/** Events that are sent again. */
export interface Replay extends Range {
  /** Only transfers in these blocks. */
  blocks: readonly [from: bigint, to: bigint] | null;
}

/** The events that wait for an endpoint; null: none. */
function waitingRange({ cursor, ahead, wanted, since }: WebhookRow): Range | null {
  const from = cursor > since ? cursor : since;
  return wanted > from ? { cursor: from, ahead: ahead.map(BigInt), upto: wanted } : null;
}

/** The first replay that is waiting; null: none. */
function nextReplay({ replays }: WebhookRow): Replay | null {
  const [next] = replays as ReturnType<typeof storedReplay>[];
  if (!next) return null;
  const { cursor, ahead, upto, fromBlock, toBlock } = next;
  return {
    ...{ cursor: BigInt(cursor), ahead: ahead.map(BigInt), upto: BigInt(upto) },
    blocks: fromBlock === null || toBlock === null ? null : [BigInt(fromBlock), BigInt(toBlock)],
  };
}

/** The JSON form in `service.webhook.replays`. Numbers are texts, since they exceed JavaScript's safe integers. */
export function storedReplay({ cursor, ahead, upto, blocks }: Replay) {
  return {
    ...{ cursor: String(cursor), ahead: ahead.map(String), upto: String(upto) },
    ...{ fromBlock: blocks && String(blocks[0]), toBlock: blocks && String(blocks[1]) },
  };
}

/** The events that were read of a range, in order: all of them up to `reached`. */
export interface Reading<Of extends Range = Range> {
  range: Of;
  reached: bigint;
  found: readonly bigint[];
}

/** The range after some of the events that were read are done. */
export function advanced<Of extends Range>({ range, reached, found }: Reading<Of>, done: ReadonlySet<bigint>): Of {
  const undone = found.find((sequence) => !done.has(sequence));
  const cursor = undone === undefined ? reached : undone - 1n;
  const ahead = [...range.ahead, ...found.filter((sequence) => done.has(sequence))];
  return { ...range, cursor, ahead: ahead.filter((sequence) => sequence > cursor) };
}

/** The messages to be sent under a claim, in order, and the ranges from which they come. */
export interface Waiting {
  items: Item[];
  main: Reading | null;
  replay: Reading<Replay> | null;
}

/** Rows that are due, the oldest first, by endpoint. */
export async function readDueRows(
  { pool }: Pick<Services, "pool">,
  webhooks: readonly ClaimedWebhook[],
): Promise<Map<string, Item[]>> {
  const { rows } = await pool.query<Item & { webhook: string }>(
    `SELECT d.* FROM unnest($1::text[], $2::integer[]) AS w (id, most) CROSS JOIN LATERAL (
       SELECT d.webhook_id AS webhook, d.id, d.sequence, d.event_id AS "eventId", d.type, d.body, d.place, d.attempts
       FROM service.webhook_delivery d
       WHERE d.webhook_id = w.id AND d.state = 'pending' AND d.next_at <= clock_timestamp()
       ORDER BY d.next_at, d.id LIMIT w.most) d ORDER BY d.id`,
    [webhooks.map(({ id }) => id), webhooks.map(mostOf)],
  );
  const sequences = [...new Set(rows.flatMap(({ sequence }) => (sequence === null ? [] : [String(sequence)])))];
  const events = new Map<bigint, EventRow>();
  if (sequences.length > 0) {
    const found = await pool.query<EventRow>("SELECT * FROM service.event WHERE sequence = ANY ($1::bigint[])", [
      sequences,
    ]);
    for (const event of found.rows) events.set(event.sequence, event);
  }
  for (const row of rows) row.event = row.sequence === null ? null : (events.get(row.sequence) ?? null);
  return Map.groupBy(rows, ({ webhook }) => webhook);
}

/** A single message shows whether a failing endpoint is back. */
function mostOf({ failures, tries_left: left }: ClaimedWebhook): number {
  const most = failures > 0 ? 1 : deliveriesOfClaim;
  return left === null ? most : Math.max(0, Math.min(most, left));
}

/**
 * Chooses the messages to an endpoint: rows that are due, events after its cursor, and replays.
 *
 * @param rows from `readDueRows`.
 */
export async function readWaiting(
  services: Pick<Services, "pool">,
  recent: RecentEvents,
  row: ClaimedWebhook,
  rows: readonly Item[],
): Promise<Waiting> {
  const most = mostOf(row);
  // For a failing endpoint, rows and events take turns: neither has to wait until the others are given up.
  const eventsFirst = row.failures % 2 === 1;
  const waiting: Waiting = { items: eventsFirst ? [] : rows.slice(0, most), main: null, replay: null };
  const room = () => most - waiting.items.length;
  // With that many failed messages waiting, no further ones are started.
  const [range, again] = row.held === "failed" ? [null, null] : [waitingRange(row), nextReplay(row)];
  if (range && room() > 0) {
    const { events, ...main } = await readRange(services, recent, row, range, room());
    waiting.main = main;
    waiting.items.push(...events.map(itemOf));
  }
  if (again && room() > 0) {
    const { events, ...replay } = await readRange(services, recent, row, again, room());
    waiting.replay = replay;
    waiting.items.push(...events.map(itemOf));
  }
  if (eventsFirst) waiting.items.push(...rows.slice(0, room()));
  return waiting;
}

async function readRange<Of extends Range>(
  { pool }: Pick<Services, "pool">,
  recent: RecentEvents,
  row: WebhookRow,
  range: Of,
  most: number,
): Promise<Reading<Of> & { events: EventRow[] }> {
  const asReading = (events: EventRow[], end: bigint) => ({
    ...{ range, events, found: events.map(({ sequence }) => sequence) },
    reached: events.length < most ? end : (events.at(-1)?.sequence ?? end),
  });
  const known = "blocks" in range ? null : recent.between(range.cursor, range.upto);
  if (known) {
    const matches = filterOf(filterOfRow(row));
    const ahead = new Set(range.ahead);
    const own = known.filter((event) => !ahead.has(event.sequence) && isFor(row, event) && matches(event));
    return asReading(own.slice(0, most), range.upto);
  }
  let from = range.cursor;
  for (let windows = 1; ; windows += 1) {
    const end = range.upto - from > window ? from + window : range.upto;
    const { rows } = await pool.query<EventRow>(...statementOf(row, range, from, end, most));
    if (rows.length > 0 || end === range.upto || windows === mostWindows) return asReading(rows, end);
    from = end;
  }
}

function statementOf(
  row: WebhookRow,
  range: Range & Partial<Pick<Replay, "blocks">>,
  from: bigint,
  end: bigint,
  most: number,
): [text: string, values: unknown[]] {
  const values: unknown[] = [String(from), String(end), row.id, range.ahead.map(String)];
  const conditions = [isForCondition(row, values), filterCondition(filterOfRow(row), values)];
  if (range.blocks)
    conditions.push(
      `e.block_number BETWEEN $${values.push(String(range.blocks[0]))} AND $${values.push(String(range.blocks[1]))}`,
    );
  return [
    // Events that wait in a row are skipped here: a worker of the previous version makes a row for each event.
    `SELECT e.* FROM service.event e WHERE e.sequence > $1 AND e.sequence <= $2 AND e.sequence <> ALL ($4::bigint[])
       AND ${conditions.join(" AND ")}
       AND NOT EXISTS (SELECT FROM service.webhook_delivery d
         WHERE d.webhook_id = $3 AND d.sequence = e.sequence AND d.state = 'pending')
     ORDER BY e.sequence LIMIT ${most}`,
    values,
  ];
}

function itemOf(event: EventRow): Item {
  return {
    ...{ id: null, sequence: event.sequence, eventId: event.id, type: event.type, place: placeOf(event) },
    ...{ attempts: 0, body: null, event },
  };
}

/** Messages with the same key are sent in order: the movements of a contract, and the states of a relayer's object. */
function placeOf(event: EventRow): string {
  if (event.account_id !== null) return `${event.type.split(".")[0]}:${String(event.data?.["object"] ?? event.id)}`;
  return event.contract ? `${event.chain_id}:${event.contract.toString("hex")}` : event.type;
}

/** The same in SQL. */
export const placeInSql = `CASE WHEN e.account_id IS NOT NULL THEN split_part(e.type, '.', 1) || ':' || coalesce(e.data->>'object', e.id)
  WHEN e.contract IS NOT NULL THEN e.chain_id || ':' || encode(e.contract, 'hex') ELSE e.type END`;
