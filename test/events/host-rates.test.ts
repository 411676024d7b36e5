import { expect, test } from "vitest";
import { HostRates, hostRates } from "../../src/events/host-rates.ts";

test("a host gets so many messages a second of one account, and so many of all", () => {
  let now = 100;
  const rates = new HostRates(() => now);
  const url = "https://example.com/hook";
  expect(rates.take(url, "a", 40)).toMatchObject({ granted: hostRates.ofAccount });
  expect(rates.take("https://example.com:443/other", "a", 1).granted).toBe(0);
  expect(rates.take("https://example.org/", "a", 5)).toEqual({ granted: 5, waitSeconds: 0 });
  const others = ["b", "c", "d"].map((account) => rates.take(url, account, 40).granted);
  expect(others).toEqual([20, 10, 0]);
  now += 1;
  expect(rates.take(url, "a", 40).granted).toBe(20);
});

test("those that find no room come again one after another, and the host is not asked for all at once", () => {
  let now = 100;
  const rates = new HostRates(() => now);
  const accounts = Array.from({ length: 200 }, (_, index) => String(index));
  const due = new Map<string, number>(accounts.map((account) => [account, 100]));
  let sent = 0;
  let asked = 0;
  for (; now < 110; now += 0.05)
    for (const [account, at] of due)
      if (at <= now) {
        asked += 1;
        const { granted, waitSeconds } = rates.take("https://example.com/", account, 40);
        sent += granted;
        due.set(account, now + waitSeconds);
      }
  // Ten seconds, and what was left of the one before.
  expect(sent).toBeLessThanOrEqual(11 * hostRates.ofAll + 1);
  expect(sent).toBeGreaterThan(8 * hostRates.ofAll);
  expect(asked).toBeLessThan(400);
});
