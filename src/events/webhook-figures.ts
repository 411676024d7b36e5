import { Counter, Histogram } from "prom-client";
import type { Services } from "../services.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { DeliveryResult } from "./webhook-results.ts";

const outcomes = ["delivered", "failed", "dead", "expired", "verified", "unverified"] as const;
type Outcome = (typeof outcomes)[number];

/** Totals of this process's tries. */
interface Figures {
  outcomes: Map<Outcome, number>;
  watch(seconds: number): void;
}

const figuresBy = new WeakMap<Services, Figures>();

function figuresOf(services: Services): Figures {
  const figures = figuresBy.get(services) ?? { outcomes: new Map(), watch: () => undefined };
  figuresBy.set(services, figures);
  return figures;
}

/** Counts recorded tries. */
export function countTries(services: Services, results: readonly DeliveryResult[]): void {
  const figures = figuresOf(services);
  for (const result of results) {
    const outcome = outcomeOf(result);
    figures.outcomes.set(outcome, (figures.outcomes.get(outcome) ?? 0) + 1);
    if (outcome !== "expired") figures.watch(result.milliseconds / 1_000);
  }
}

/** Counts a recorded challenge. */
export function countChallenge(services: Services, isVerified: boolean): void {
  const { outcomes: counts } = figuresOf(services);
  const outcome = isVerified ? "verified" : "unverified";
  counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
}

function outcomeOf({ delivered, gone, pauseSeconds }: DeliveryResult): Outcome {
  if (gone) return "expired";
  if (delivered) return "delivered";
  return pauseSeconds === null ? "dead" : "failed";
}

/** Metrics of a worker's webhooks. */
export function watchWebhooks({ registry }: Metrics, services: Services): void {
  const figures = figuresOf(services);
  new Counter({
    name: "mintyard_webhook_tries_total",
    help: "Tries of webhooks: delivered, failed and tried again, given up (dead), or dropped with their event (expired); challenges that were answered (verified) or not (unverified).",
    labelNames: ["outcome"],
    registers: [registry],
    collect() {
      this.reset();
      for (const outcome of outcomes) this.inc({ outcome }, figures.outcomes.get(outcome) ?? 0);
    },
  });
  const seconds = new Histogram({
    name: "mintyard_webhook_try_seconds",
    help: "From sending a webhook to the receiver's answer, or to the end of the wait for it.",
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
    registers: [registry],
  });
  figures.watch = (value) => seconds.observe(value);
}
