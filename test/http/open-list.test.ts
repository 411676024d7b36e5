import { expect, test } from "vitest";
import { OpenList } from "../../src/http/open-list.ts";
import { SeededGenerator } from "../setup/seeded-generator.ts";

const item = (name: number) => ({ name, place: 0 });

test("it has what was added and not removed, whatever the order", () => {
  const list = new OpenList<ReturnType<typeof item>>();
  const known = new Set<ReturnType<typeof item>>();
  const random = new SeededGenerator(7).below;
  for (let step = 0; step < 5_000; step += 1) {
    if (random(2) === 0 && known.size < 40) {
      const added = item(step);
      list.add(added);
      known.add(added);
    } else {
      const removed = [...known][random(known.size)];
      if (!removed) continue;
      list.remove(removed);
      known.delete(removed);
    }
    expect(list.size).toBe(known.size);
    expect(new Set(list.all())).toEqual(known);
  }
});

test("what is removed twice, or was never on it, takes nothing else away", () => {
  const list = new OpenList<ReturnType<typeof item>>();
  const [first, second, never] = [item(1), item(2), item(3)];
  list.add(first);
  list.remove(first);
  list.add(second);
  list.remove(first);
  list.remove(never);
  expect(list.all()).toEqual([second]);
});
