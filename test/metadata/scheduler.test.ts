import { expect, test } from "vitest";
import { type Scheduled, Scheduler } from "../../src/metadata/schedule/scheduler.ts";
import type { TokenJob } from "../../src/metadata/store/queue.ts";
import { Busy } from "../../src/outbound/host-limits.ts";

const chainId = 1;
const head = { number: 1n, hash: `0x${"11".repeat(32)}` } as const;
const contractOf = (name: number) => Buffer.alloc(20, name);
const due = (...names: number[]) => names.map((name) => ({ contract: contractOf(name), priority: 1 }));

function jobs(name: number, count: number, chain = chainId): TokenJob[] {
  return Array.from({ length: count }, (_, id) => ({
    ...{ chainId: chain, contract: contractOf(name), tokenId: String(id), leaseId: "", attempts: 1 },
    ...{ mintBlock: null, standard: "ERC721" as const },
  }));
}

function schedulerWith(bounds: Partial<ConstructorParameters<typeof Scheduler>[0]> = {}): Scheduler {
  return new Scheduler({ concurrency: 40, perContractMinute: 20, chains: 1, ...bounds });
}

/** Begins what may begin. */
function begin(scheduler: Scheduler, chain = chainId): Scheduled[] {
  const begun: Scheduled[] = [];
  for (let next = scheduler.begin(chain); next; next = scheduler.begin(chain)) begun.push(next);
  return begun;
}

const namesOf = (begun: readonly Scheduled[]) => begun.map(({ job }) => job.contract[0]);

test("contracts take turns, and one has no more than a twentieth of the jobs", () => {
  const scheduler = schedulerWith();
  scheduler.add(chainId, jobs(1, 30), head);
  scheduler.add(chainId, jobs(2, 3), head);
  const begun = begin(scheduler);
  expect(namesOf(begun)).toEqual([1, 2, 1, 2]);
  for (const one of begun) scheduler.end(one);
  expect(namesOf(begin(scheduler))).toEqual([1, 2, 1]);
});

test("one chain of several leaves a quarter of the jobs to the others", () => {
  const scheduler = schedulerWith({ chains: 2 });
  for (let name = 1; name <= 30; name += 1) scheduler.add(chainId, jobs(name, 2), head);
  for (let name = 1; name <= 30; name += 1) scheduler.add(2, jobs(name, 2, 2), head);
  expect([begin(scheduler).length, begin(scheduler, 2).length]).toEqual([30, 10]);
});

test("tokens are claimed in portions, and no more than may wait", () => {
  const scheduler = schedulerWith();
  const claims = scheduler.chooseClaims(chainId, due(1, 2));
  expect(claims.map(({ contract, count }) => [contract[0], count]).toSorted()).toEqual([
    [1, 16],
    [2, 16],
  ]);
  for (const { contract, count } of claims) scheduler.add(chainId, jobs(contract[0] ?? 0, count), head);
  expect(scheduler.chooseClaims(chainId, due(1, 2))).toEqual([]);
  const many = scheduler.chooseClaims(chainId, due(...Array.from({ length: 250 }, (_, at) => at + 3)));
  expect(many.reduce((sum, { count }) => sum + count, 0)).toBe(224);
});

test("a contract whose servers are busy pauses longer each time, and others begin meanwhile", () => {
  const scheduler = schedulerWith();
  scheduler.add(chainId, jobs(1, 4), head);
  const [first, second] = begin(scheduler);
  if (!first || !second) throw new Error("nothing began");
  const pauses = [scheduler.pause(first, 0), scheduler.pause(second, 0), scheduler.pause(first, 20_000)];
  expect(pauses[1]).toBeGreaterThan(pauses[0] ?? 0);
  expect(pauses[2]).toBeGreaterThanOrEqual(20_000);
  expect(scheduler.pause(first, 3_600_000)).toBeLessThanOrEqual(45_000);
  for (const one of [first, second]) scheduler.end(one);
  scheduler.add(chainId, jobs(2, 1), head);
  expect(namesOf(begin(scheduler))).toEqual([2]);
  expect(scheduler.chooseClaims(chainId, due(1))).toEqual([]);
  scheduler.succeeded(first, false);
  expect(namesOf(begin(scheduler))).toEqual([1, 1]);
});

test("a contract on a server gets its allowance of a minute, is not claimed beyond it, and others are not charged", () => {
  const scheduler = schedulerWith({ perContractMinute: 3 });
  scheduler.add(chainId, jobs(1, 2), head);
  const [first] = begin(scheduler);
  if (!first) throw new Error("nothing began");
  for (let at = 0; at < 3; at += 1) scheduler.charge(first);
  expect(() => scheduler.charge(first)).toThrow(Busy);
  // While it was not known to be on a server, it is claimed like any other.
  expect(scheduler.chooseClaims(chainId, due(1)).length).toBe(1);
  scheduler.succeeded(first, true);
  expect(scheduler.chooseClaims(chainId, due(1))).toEqual([]);
  expect(scheduler.chooseClaims(chainId, due(2)).length).toBe(1);
});

test("what has not begun goes back, once", () => {
  const scheduler = schedulerWith();
  scheduler.add(chainId, [...jobs(1, 5), ...jobs(2, 1)], head);
  const begun = begin(scheduler);
  expect(begun.length).toBe(3);
  expect(scheduler.takeOverdue(chainId)).toEqual([]);
  expect(scheduler.takeOverdue(chainId, true).length).toBe(3);
  expect(scheduler.takeOverdue(chainId, true)).toEqual([]);
  expect(scheduler.begin(chainId)).toBeNull();
});

test("idle contracts are forgotten, those that wait are kept", () => {
  const scheduler = schedulerWith({ concurrency: 30_000 });
  const address = (at: number) =>
    Buffer.concat([Buffer.alloc(16), Buffer.from(at.toString(16).padStart(8, "0"), "hex")]);
  const job = (at: number) => jobs(0, 1).map((one) => ({ ...one, contract: address(at) }));
  scheduler.add(chainId, [...job(0), ...job(0)], head);
  for (let at = 1; at <= 25_000; at += 1) {
    scheduler.add(chainId, job(at), head);
    for (const one of begin(scheduler)) if (at > 1 || one.job.contract.equals(address(at))) scheduler.end(one);
  }
  expect(scheduler.takeOverdue(chainId, true)).toEqual([]);
  expect(scheduler.contracts).toBeLessThanOrEqual(10_000);
});
