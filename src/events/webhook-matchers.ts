import { filterOf } from "../outbox/event-filter.ts";
import type { EventRow } from "../outbox/event-row.ts";
import { filterOfRow, type WebhookRow } from "./webhook-record.ts";

interface Matcher {
  row: WebhookRow;
  matches: (event: EventRow) => boolean;
}

/** Whether an event may be told to whoever owns an endpoint. */
export function isFor({ account_id: owner }: Pick<WebhookRow, "account_id">, event: EventRow): boolean {
  if (event.for_operator) return owner === null;
  return event.account_id === null || event.account_id === owner;
}

/** The same as a condition on `service.event e`; `values` gets what it refers to. */
export function isForCondition({ account_id: owner }: Pick<WebhookRow, "account_id">, values: unknown[]): string {
  if (owner === null) return "(e.for_operator OR e.account_id IS NULL)";
  return `NOT e.for_operator AND (e.account_id IS NULL OR e.account_id = $${values.push(owner)})`;
}

/** Endpoints by what they may match: an event is compared with those alone that name its contract or its account. */
export class WebhookMatchers {
  readonly #ofAccount = new Map<string | null, Matcher[]>();
  readonly #ofContract = new Map<string, Matcher[]>();
  /** They name no contract. */
  readonly #others: Matcher[] = [];
  readonly #all: readonly Matcher[];

  constructor(rows: readonly WebhookRow[]) {
    this.#all = rows.map((row) => ({ row, matches: filterOf(filterOfRow(row)) }));
    for (const matcher of this.#all) {
      listOf(this.#ofAccount, matcher.row.account_id).push(matcher);
      if (matcher.row.contracts.length === 0) this.#others.push(matcher);
      for (const contract of new Set(matcher.row.contracts.map((bytes) => bytes.toString("latin1"))))
        listOf(this.#ofContract, contract).push(matcher);
    }
  }

  get size(): number {
    return this.#all.length;
  }

  /** The endpoints that get an event. */
  of(event: EventRow): WebhookRow[] {
    const found: WebhookRow[] = [];
    for (const list of this.#candidates(event))
      for (const { row, matches } of list)
        if (event.sequence > row.since && isFor(row, event) && matches(event)) found.push(row);
    return found;
  }

  #candidates(event: EventRow): (readonly Matcher[])[] {
    if (event.for_operator) return [this.#ofAccount.get(null) ?? []];
    if (event.account_id !== null) return [this.#ofAccount.get(event.account_id) ?? []];
    // What is told of a whole chain is not narrowed by contracts.
    if (event.type.startsWith("chain.")) return [this.#all];
    return [this.#others, (event.contract && this.#ofContract.get(event.contract.toString("latin1"))) ?? []];
  }
}

function listOf<Key>(map: Map<Key, Matcher[]>, key: Key): Matcher[] {
  const list = map.get(key) ?? [];
  map.set(key, list);
  return list;
}
