import { expect, test } from "vitest";
import { Slots } from "../src/slots.ts";

const turn = async () => await new Promise((done) => setImmediate(done));

/** Works that end when they are told to, and the order in which they began. */
function works(slots: Slots) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const begin = (name: string, account?: string, signal?: AbortSignal) =>
    slots.run(
      async () => {
        begun.push(name);
        await new Promise<void>((end) => ends.set(name, end));
        return name;
      },
      { ...(account === undefined ? {} : { account }), signal },
    );
  const end = async (name: string) => {
    ends.get(name)?.();
    await turn();
  };
  return { begun, begin, end };
}

test("no more works run than there are slots, and those that wait come in their order", async () => {
  const slots = new Slots(2);
  const { begun, begin, end } = works(slots);
  const all = Promise.all(["a", "b", "c", "d"].map((name) => begin(name)));
  await turn();
  expect([begun, slots.running, slots.waiting]).toEqual([["a", "b"], 2, 2]);
  await end("b");
  expect([begun, slots.running, slots.waiting]).toEqual([["a", "b", "c"], 2, 1]);
  for (const name of ["a", "c", "d"]) await end(name);
  expect(await all).toEqual(["a", "b", "c", "d"]);
  expect([slots.running, slots.waiting]).toEqual([0, 0]);
});

test("accounts take turns, so that one that asks for much makes only itself wait", async () => {
  const { begun, begin, end } = works(new Slots(1));
  const all = Promise.all(["a1", "a2", "a3", "b1"].map((name) => begin(name, name.slice(0, 1))));
  for (const name of ["a1", "a2", "b1", "a3"]) {
    await turn();
    await end(name);
  }
  await all;
  expect(begun).toEqual(["a1", "a2", "b1", "a3"]);
});

test("who gives up leaves the line with the signal's reason, and a work that fails gives its slot back", async () => {
  const slots = new Slots(1);
  const { begun, begin, end } = works(slots);
  const first = begin("first");
  const leaving = new AbortController();
  const left = begin("left", undefined, leaving.signal);
  const failing = expect(slots.run(async () => await Promise.reject(new Error("broke")))).rejects.toThrow("broke");
  const last = begin("last");
  leaving.abort(new Error("gone"));
  await expect(left).rejects.toThrow("gone");
  await end("first");
  await failing;
  await end("last");
  expect(await Promise.all([first, last])).toEqual(["first", "last"]);
  expect([begun, slots.running]).toEqual([["first", "last"], 0]);
});
