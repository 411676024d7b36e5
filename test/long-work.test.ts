import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { importDirectory } from "../src/ipfs/import-content.ts";
import { LongWork } from "../src/long-work.ts";

test("one slice is done in each turn of the event loop, and accounts take turns", async () => {
  const order: string[] = [];
  let turns = 0;
  const seen: number[] = [];
  let working = true;
  const counting = (async () => {
    for (; working; turns += 1) await turn();
  })();
  const run = async (account: string) => {
    const work = new LongWork(account);
    for (let slice = 0; slice < 3; slice += 1) {
      await work.rest();
      order.push(account);
      seen.push(turns);
    }
  };
  // Three pieces of one account's work, and one of another's that came last.
  await Promise.all([run("a"), run("a"), run("a"), run("b")]);
  working = false;
  await counting;
  expect(order.slice(0, 4)).toEqual(["a", "b", "a", "b"]);
  expect(new Set(seen).size).toBeGreaterThanOrEqual(seen.length - 1);
});

test("a slice is over by the work that was done in it, not by what it waited for", async () => {
  const work = new LongWork("a");
  await new Promise((done) => setTimeout(done, 20));
  expect(work.isOver).toBe(false);
  const before = process.threadCpuUsage();
  for (let used = 0; used < 6_000; ) used = process.threadCpuUsage(before).user;
  expect(work.isOver).toBe(true);
});

test("a large directory leaves the event loop to others, through every part of its making", async () => {
  async function* files() {
    for (let id = 0; id < 6_000; id += 1)
      yield { names: [`${id}`, `${id}.json`], bytes: Buffer.from(`{"id":${id}}`), contentType: "application/json" };
  }
  let [turns, working] = [0, true];
  const turning = (async () => {
    for (; working; turns += 1) await turn();
  })();
  const { root } = await importDirectory(files(), { put: async (cid) => cid });
  working = false;
  await turning;
  // As it was when all of it was one piece of work.
  expect(String(root)).toBe("bafybeibiw4v24mwr5blwk7i6uldfyezhjzy46ghscwmnnq573iueutr4pa");
  // It was one turn.
  expect(turns).toBeGreaterThan(15);
});
