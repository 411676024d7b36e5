import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { PrimaryPositions } from "../../src/db/replicas/replica.ts";

/** Asks nobody before `look` is called. */
const positions = () => new PrimaryPositions("postgres://127.0.0.1:1/none", "test");

test("a replica is behind for as long as it lacks what the primary had", async () => {
  const primary = positions();
  primary.note(100n);
  await sleep(20);
  primary.note(200n);
  expect(primary.lagOf(200n)).toBe(0);
  expect(primary.lagOf(150n)).toBeLessThan(primary.lagOf(50n));
  expect(primary.lagOf(50n)).toBeGreaterThan(0.01);
});

test("after a failover a replica that was behind still is", async () => {
  const primary = positions();
  primary.note(100n);
  await sleep(30);
  primary.note(200n);
  primary.note(150n);
  // It lacks what the primary had 30 ms ago, which the new one has too.
  expect(primary.lagOf(50n)).toBeGreaterThan(0.02);
});

test("after a failover no replica lacks the end of the old primary's log, which the new one never had", () => {
  const primary = positions();
  primary.note(100n);
  primary.note(200n);
  // The standby that took over had 150, and its log begins anew there.
  primary.note(150n);
  expect(primary.lagOf(150n)).toBe(0);
  expect(primary.lagOf(149n)).toBeGreaterThan(0);
});
