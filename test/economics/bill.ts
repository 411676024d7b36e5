import { mostFailed, shownOfEndpoint } from "../../src/events/webhook-results.ts";
import { type BoundName, boundOf, documentMs, free, heavyMs, mostIn } from "./bounds.ts";
import type { Cost } from "./meter.ts";
import { pricesEur } from "./prices.ts";
import type { Attacker, Finding } from "./walk.ts";

/** What a message takes of the worker, its receiver beside it, and as much of the database: test/events/webhook-attacks.long.test.ts. */
export const messageMs = 5;
/** Rows that are kept of one delivery: its tries. */
const rowsOfDelivery = 7;

/** The parts of a bill, in euros. */
export type Bill = Readonly<Record<string, number>>;

export const sumOf = (bill: Bill): number => Object.values(bill).reduce((sum, part) => sum + part, 0);

const ms = (amount: number) => (amount / 1_000) * pricesEur.processorSecond;

/** Rows that come every day are kept from their day on: of thirty days' rows a month pays half. */
const rowDays = (days: 1 | 30) => (days === 1 ? 1 : (days + 1) / 2);

/** What one request costs that comes in a day or in a month, without what it stores of content, which has a limit of its own. */
function eurOf({ rpcCalls, rows, processorMs, databaseMs }: Cost, days: 1 | 30, storesContent = false): number {
  const kept = storesContent ? 0 : rows * pricesEur.rowDay * rowDays(days);
  return rpcCalls * pricesEur.rpcCall + kept + ms(processorMs + databaseMs);
}

/** One finding with what counts it and what it costs at most. */
export interface Billed extends Finding {
  bound: BoundName;
  /** In a day and in a month, if it were all that this bound lets through. */
  dayEur: number;
  monthEur: number;
}

export function billed(finding: Finding): Billed {
  const bound = boundOf(finding.operation, finding.attacker, finding.transaction);
  const { places, paidMs, cost } = finding;
  const inDays = (days: 1 | 30) => {
    const most = mostIn(bound, days);
    const each = eurOf(cost, days, bound === "upload");
    // Of pages the budget is time, and a request has paid some of it.
    if (bound === "page") return (most / Math.max(paidMs, 0.1)) * each;
    return (most / places) * each;
  };
  return { ...finding, bound, dayEur: inDays(1), monthEur: inDays(30) };
}

/** Of each bound the dearest operation, since what counts one does not count another. */
function dearest(all: readonly Billed[], attacker: Attacker, days: 1 | 30): Record<string, number> {
  const most: Record<string, number> = {};
  for (const one of all) {
    const eur = days === 1 ? one.dayEur : one.monthEur;
    if (one.attacker === attacker) most[one.bound] = Math.max(most[one.bound] ?? 0, eur);
  }
  return most;
}

/** What a free account costs at most, gas included, with everything that counts it used up by the dearest there is. */
export function billOfAccount(all: readonly Billed[], days: 1 | 30, gasEur: number): Bill {
  const { "sign-up": _ofBlock, ...most } = dearest(all, "free account", days);
  const tries = (free.webhookTriesPerDay ?? Number.NaN) * days;
  const deliveries = (free.maxWebhooks ?? Number.NaN) * (shownOfEndpoint + mostFailed) * rowsOfDelivery;
  return {
    gas: gasEur,
    ...most,
    messages: ms(tries * messageMs * 2),
    deliveries: deliveries * pricesEur.rowDay * days,
    content: (Number(free.storageBytes) / 1e9) * dearestByte(all) * days,
    lists: (Number(free.allowlistBytes) / 1e9) * pricesEur.databaseGigabyteDay * days,
    "heavy reads": ms(heavyMs(days)),
    documents: ms(documentMs(days)),
  };
}

/** The same of an address without a key. */
export function billOfAddress(all: readonly Billed[]): Bill {
  return { ...dearest(all, "no key", 1), documents: ms(documentMs(1)) };
}

/** What a gigabyte of an account's storage costs in a day, by the upload that takes most of the disk for what it counts. */
function dearestByte(all: readonly Billed[]): number {
  const { gigabyteDay, databaseGigabyteDay } = pricesEur;
  const uploads = all.filter(({ attacker, bound, countedBytes }) => {
    return attacker === "free account" && bound === "upload" && countedBytes > 0;
  });
  const prices = uploads.map(({ cost, countedBytes }) => {
    const ofDatabase = (cost.databaseBytes / countedBytes) * databaseGigabyteDay;
    return ofDatabase + (cost.fileBytes / countedBytes) * gigabyteDay;
  });
  return Math.max(gigabyteDay, ...prices);
}
