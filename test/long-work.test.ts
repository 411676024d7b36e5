import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { importDirectory } from "../src/ipfs/import-content.ts";
import { LongWork, shortReads, turnOf } from "../src/long-work.ts";

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

test("while short reads are under way, a piece is followed by a pause of its own length, and is not kept from its turn", async () => {
  shortReads.underWay += 1;
  try {
    await turnOf("a");
    for (let piece = 0; piece < 5; piece += 1) {
      const begun = performance.now();
      let end = begun;
      while (end < begun + 5) end = performance.now();
      await turnOf("a");
      expect(performance.now() - end).toBeGreaterThanOrEqual(end - begun);
    }
  } finally {
    shortReads.underWay -= 1;
  }
});

test("a slice is over by the work that was done in it, not by what it waited for", async () => {
  const still = new Int32Array(new SharedArrayBuffer(4));
  const waited = () => {
    const work = new LongWork("a");
    // The thread stands still: in a wait of the event loop it would do the work of others.
    Atomics.wait(still, 0, 0, 20);
    return work;
  };
  // Some kernels count a thread's time in steps of a few milliseconds, and give a whole one to who runs at its end.
  let work = waited();
  for (let tries = 0; work.isOver && tries < 20; tries += 1) work = waited();
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

test("the names of a directory that is one block are in the order of their bytes", async () => {
  // In that of UTF-16, the second stands after the third.
  const names = ["a", "\u{ff01}", "\u{1f600}", "b"];
  async function* files() {
    for (let id = 0; id < 1_200; id += 1)
      yield { names: [`${names[id % 4]}${id}`], bytes: Buffer.from(`{"id":${id}}`), contentType: "application/json" };
  }
  const { root } = await importDirectory(files(), { put: async (cid) => cid });
  // As the encoder of dag-pb makes it in one piece.
  expect(String(root)).toBe("bafybeiarx4kaqpsutc35ndpfnmmjbzmplskicrrlh6hgjrxrrooiql2gqe");
});
