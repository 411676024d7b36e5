import { setTimeout as sleep } from "node:timers/promises";
import { Gauge } from "prom-client";
import type { Next, Rounds } from "../rounds.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { claimCheck, readContentHealth, recordCheck } from "./check-queue.ts";
import type { ContentContext } from "./context.ts";
import { verifyCar } from "./verify-car.ts";

const pollMs = 30_000;

/**
 * Reads all stored content again, slowly and for ever, until the signal: damage shows before the last good copy
 * elsewhere is gone. At most `IPFS_CHECK_BYTES_PER_SECOND` in this process; 0 switches it off.
 */
export async function runChecks(services: ContentContext, rounds: Rounds): Promise<void> {
  const { log, config } = services;
  if (config.ipfs.check.bytesPerSecond === 0) return;
  const failing = "stored content could not be checked; it is tried again";
  await rounds.repeat(() => checkNext(services, rounds.signal), { periodMs: pollMs }, { log, failing });
}

async function checkNext({ db, log, content, config }: ContentContext, signal: AbortSignal): Promise<Next> {
  const { bytesPerSecond, days } = config.ipfs.check;
  const car = await claimCheck(db, bytesPerSecond);
  if (!car) return "rest";
  // Rejects at the signal: the rest of this check is left, and is due again when the claim is over.
  const pace = async (bytes: number) => await sleep((bytes * 1_000) / bytesPerSecond, undefined, { signal });
  const damage = await verifyCar(db, car, content.carPath(car.file), pace);
  await recordCheck(db, car, damage, days);
  if (damage !== null) log.error({ root: car.root, file: car.file, damage }, "stored content is damaged");
  return "again";
}

/** Shows how many of the stored CARs were damaged when they were checked last. */
export function watchContent({ registry }: Metrics, { db }: ContentContext): void {
  new Gauge({
    name: "mintyard_damaged_content",
    help: "Stored CARs that were damaged or missing when they were read last; see mintyard doctor.",
    registers: [registry],
    async collect() {
      const health = await readContentHealth(db).catch(() => null);
      // Nothing known is no reason to say that all is well.
      if (health) this.set(health.damaged);
      else this.reset();
    },
  });
}
