import { afterEach, expect, test, vi } from "vitest";
import { RequestEnd, requestAccount, requestEnd, setTenant, withTenantScope } from "../../src/db/tenancy/tenant.ts";
import { batched } from "../../src/transactions/store/batch.ts";
import { patient } from "../setup/wait.ts";

afterEach(() => {
  vi.useRealTimers();
});

interface Gate {
  open: () => void;
  items: readonly number[];
}

/** Work that ends when the test opens its gate; 13 is an item that always fails. */
function gated(options: { most: number; retryIndividually: boolean }) {
  const gates: Gate[] = [];
  const work = async (_owner: object, items: readonly number[]) => {
    await new Promise<void>((open) => gates.push({ open, items }));
    if (items.includes(13)) throw new Error(`failed for ${items.join(" ")}`);
    return items.map((item) => item * 2);
  };
  const run = batched(work, options);
  const owner = {};
  return { gates, ask: (name: string, item: number) => run(owner, name, item) };
}

async function openNext(gates: Gate[]): Promise<readonly number[]> {
  await expect.poll(() => gates.length, patient).toBeGreaterThan(0);
  const gate = gates.shift();
  gate?.open();
  return gate?.items ?? [];
}

test("callers of one turn share the first batch; those who come meanwhile the next, as many as it may hold", async () => {
  const { gates, ask } = gated({ most: 3, retryIndividually: false });
  const results = Promise.all([1, 2, 3, 4, 5].map((item) => ask("one", item)));
  const other = ask("two", 6);
  await null;
  expect(gates.map(({ items }) => items)).toEqual([[1, 2, 3], [6]]);
  const meanwhile = ask("one", 8);
  for (const gate of gates.splice(0)) gate.open();
  expect(await openNext(gates)).toEqual([4, 5, 8]);
  expect(await results).toEqual([2, 4, 6, 8, 10]);
  expect(await meanwhile).toBe(16);
  expect(await other).toBe(12);
  const later = ask("one", 7);
  expect(await openNext(gates)).toEqual([7]);
  expect(await later).toBe(14);
});

test("work for several requests is the account's that asked, and does not end with the first one's client", async () => {
  const seen: unknown[] = [];
  const work = async (_owner: object, items: readonly number[]) => {
    seen.push({ account: requestAccount(), end: requestEnd(), items });
    return items;
  };
  const run = batched(work, { most: 1, retryIndividually: false });
  const owner = {};
  const end = new RequestEnd(null);
  const first = withTenantScope(() => {
    setTenant("a");
    const asked = run(owner, "a", 1);
    // As a document does that signs up as somebody else.
    setTenant("b");
    return asked;
  }, end);
  const second = withTenantScope(() => {
    setTenant("a");
    return run(owner, "a", 2);
  });
  end.end(new Error("the client has gone"));
  expect(await Promise.all([first, second])).toEqual([1, 2]);
  expect(seen).toEqual([1, 2].map((item) => ({ account: "a", end: null, items: [item] })));
});

test("a batch that hangs keeps the next one waiting for a moment only", async () => {
  const { gates, ask } = gated({ most: 2, retryIndividually: false });
  const hanging = ask("one", 1);
  await null;
  const [first] = gates.splice(0);
  const later = Promise.all([2, 3].map((item) => ask("one", item)));
  expect(await openNext(gates)).toEqual([2, 3]);
  expect(await later).toEqual([4, 6]);
  first?.open();
  expect(await hanging).toBe(2);
});

test("work that fails for several is repeated individually, so that only its own item fails; or all of them fail", async () => {
  const { gates, ask } = gated({ most: 9, retryIndividually: true });
  const results = Promise.allSettled([1, 12, 13, 14].map((item) => ask("one", item)));
  const seen: (readonly number[])[] = [];
  for (let batch = 0; batch < 5; batch += 1) seen.push(await openNext(gates));
  expect(seen).toEqual([[1, 12, 13, 14], [1], [12], [13], [14]]);
  const outcomes = (await results).map((result) =>
    result.status === "fulfilled" ? result.value : result.reason.message,
  );
  expect(outcomes).toEqual([2, 24, "failed for 13", 28]);

  const together = gated({ most: 9, retryIndividually: false });
  const failed = Promise.allSettled([together.ask("one", 1)]);
  await null;
  const later = Promise.allSettled([12, 13].map((item) => together.ask("one", item)));
  await openNext(together.gates);
  expect(await openNext(together.gates)).toEqual([12, 13]);
  const outcome = [...(await failed), ...(await later)];
  expect(outcome.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
});
