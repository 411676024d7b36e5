import type { EventRow } from "../outbox/event-row.ts";

const kept = 2_000;

/**
 * The events that this process compared with endpoints last, without a gap. What is sent at once is not read a second time.
 */
export class RecentEvents {
  #rows: EventRow[] = [];

  /** Takes what was read next. Where another process has read what lies between, it begins anew. */
  add(rows: readonly EventRow[]): void {
    const [first, last] = [rows[0], rows.at(-1)];
    if (!first || !last) return;
    const before = this.#rows.at(-1);
    if (before && first.sequence !== before.sequence + 1n) this.#rows = [];
    if (last.sequence - first.sequence !== BigInt(rows.length - 1)) return;
    this.#rows.push(...rows);
    if (this.#rows.length > kept) this.#rows = this.#rows.slice(-kept);
  }

  /** All events after one, up to another; null where some of them are not here. */
  between(after: bigint, upto: bigint): readonly EventRow[] | null {
    const [first, last] = [this.#rows[0], this.#rows.at(-1)];
    if (!first || !last || after + 1n < first.sequence || upto > last.sequence) return null;
    return this.#rows.slice(Number(after + 1n - first.sequence), Number(upto + 1n - first.sequence));
  }
}
