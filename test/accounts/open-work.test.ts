import { expect, test, vi } from "vitest";
import { OpenWork, workOfAddress, workOfAddresses, workOfDay } from "../../src/accounts/open-work.ts";

test("whoever has used up what it may waits for it to come back, and nobody else does", async () => {
  const work = new OpenWork(true);
  const startedAt = performance.now();
  expect(work.begin("address a", workOfAddress.most + 20)).toBeUndefined();
  const waiting = work.begin("address a", 1);
  expect(waiting).toBeInstanceOf(Promise);
  expect(work.begin("address b", 1)).toBeUndefined();
  expect(work.begin("account c", 1)).toBeUndefined();
  await waiting;
  expect(performance.now() - startedAt).toBeGreaterThan((20 / workOfAddress.perSecond) * 1_000 - 10);
});

test("of those that wait before they begin some are too many", () => {
  const work = new OpenWork(true);
  work.charge("address a", workOfAddress.most + 1_000);
  const begun = Array.from({ length: 64 }, () => work.begin("address a", 1));
  expect(begun.every((one) => one instanceof Promise)).toBe(true);
  expect(() => work.begin("address a", 1)).toThrow(expect.objectContaining({ code: "rate_limit_exceeded" }));
  expect(work.begin("address b", 1)).toBeUndefined();
});

test("many addresses together get what all addresses may, and take turns", async () => {
  const work = new OpenWork(true);
  const share = workOfAddresses.most / 10;
  const owners = Array.from({ length: 20 }, (_, at) => `address ${at}`);
  const atOnce = owners.filter((owner) => work.takeNow(owner, share));
  expect(atOnce.length).toBeGreaterThanOrEqual(10);
  expect(atOnce.length).toBeLessThan(15);
  const order: string[] = [];
  const wait = async (owner: string) => {
    await work.goOn(owner, 5);
    order.push(owner);
  };
  // One that asks for much, and one that comes later.
  await Promise.all([...Array.from({ length: 5 }, () => wait("address x")), wait("address y")]);
  expect(order.indexOf("address y")).toBeLessThan(2);
});

test("a day has an end, also for a client that waits as it is told, and it comes back by itself", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  try {
    const work = new OpenWork(true);
    let taken = 0;
    const hour = () => {
      for (let second = 0; second < 3_600; second += 1) {
        vi.advanceTimersByTime(1_000);
        while (work.takeNow("address a", 50)) taken += 50;
      }
    };
    for (let hours = 0; hours < 24; hours += 1) hour();
    const { most, perSecond } = workOfDay;
    expect(taken).toBeGreaterThan(most);
    expect(taken).toBeLessThan(most + perSecond * 86_400 + 1_000);
    expect(work.takeNow("address a", 50)).toBe(false);
    expect(work.takeNow("address b", 50)).toBe(true);
  } finally {
    vi.useRealTimers();
  }
});

test("where a gateway in front limits rates nobody waits", () => {
  const work = new OpenWork(false);
  work.charge("address a", 1_000_000);
  expect(work.begin("address a", 1_000)).toBeUndefined();
});
