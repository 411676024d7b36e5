import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Address } from "viem";
import { beforeEach, expect, test } from "vitest";
import { DaySpending } from "../../src/signing/day-spending.ts";
import type { Unsigned } from "../../src/signing/signer.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const wallet: Address = `0x${"11".repeat(20)}`;
const day = 1_000_000n;
const priced = (nonce: number, wei: bigint, chainId = 137): Unsigned => ({
  ...{ chainId, nonce, to: wallet, data: "0x", value: 0n, gas: wei, maxFeePerGas: 1n, maxPriorityFeePerGas: 0n },
});

let file: string;
let now: Date;
const open = () => new DaySpending(file, () => now);
beforeEach(() => {
  file = join(temporaryFolder(), "spending.json");
  now = new Date("2026-03-01T12:00:00Z");
});

test("a day holds what it may, of each nonce the dearest bytes, for each chain alone", () => {
  const spending = open();
  expect(spending.take(wallet, priced(1, 600_000n), day)).toBe(true);
  expect(spending.take(wallet, priced(1, 700_000n), day)).toBe(true);
  expect(spending.take(wallet, priced(1, 500_000n), day)).toBe(true);
  expect(spending.room(137, day)).toBe(300_000n);
  expect(spending.take(wallet, priced(2, 300_001n), day)).toBe(false);
  expect(spending.take(wallet, priced(2, 300_000n), day)).toBe(true);
  expect(spending.room(137, day)).toBe(0n);
  expect(spending.take(wallet, priced(1, 600_000n, 1), day)).toBe(true);
});

test("a signer that starts anew forgets nothing of the day, and loses a part of it at most", () => {
  expect(open().take(wallet, priced(1, 900_000n), day)).toBe(true);
  const next = open();
  expect(next.room(137, day)).toBeLessThanOrEqual(100_000n);
  expect(next.room(137, day)).toBeGreaterThan(90_000n);
  expect(next.take(wallet, priced(2, 100_001n), day)).toBe(false);
});

test("what could not be written down is not signed, then or later", () => {
  const spending = open();
  rmSync(dirname(file), { recursive: true });
  for (let tries = 0; tries < 2; tries += 1)
    expect(() => spending.take(wallet, priced(1, 400_000n), day)).toThrow("ENOENT");
  mkdirSync(dirname(file));
  expect(spending.take(wallet, priced(1, 400_000n), day)).toBe(true);
  expect(open().room(137, day)).toBeLessThanOrEqual(600_000n);
});

test("the next day begins with all of it; a clock that goes back begins none", () => {
  const spending = open();
  spending.take(wallet, priced(1, day), day);
  now = new Date("2026-03-02T00:00:00Z");
  expect(spending.take(wallet, priced(2, day), day)).toBe(true);
  now = new Date("2026-03-01T23:59:59Z");
  expect(spending.room(137, day)).toBe(0n);
  expect(open().room(137, day)).toBe(0n);
});

test("a file that cannot be read is no empty day", () => {
  open().take(wallet, priced(1, 1n), day);
  expect(readFileSync(file, "utf8")).toContain("2026-03-01");
  for (const text of ["", "{}", '{"day":"2026-03-01","wei":{"137":"much"}}']) {
    writeFileSync(file, text);
    expect(open).toThrow(file);
  }
});
