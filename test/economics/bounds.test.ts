import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { describeCosts, describeOperations } from "./rows.ts";
import { costsTable, lineOf, operationsTable } from "./table.ts";

test("the bounds in docs/limits.md are those of the code", () => {
  // What requests cost is measured elsewhere; what bounds them is known without.
  const text = readFileSync(new URL("../../docs/limits.md", import.meta.url), "utf8");
  const found = { billed: [], gasOfOne: 0, reservedBySpent: 0, dayEur: 1, monthEur: 5, headroom: 1 };
  const seen = (table: typeof costsTable, rows: ReturnType<typeof describeCosts>) =>
    rows.flatMap((row) => {
      const line = lineOf(text, table, row);
      return [[row.thing, row.who, line?.split("|").at(-2)?.trim(), row.bound]];
    });
  for (const [thing, who, written, bound] of seen(costsTable, describeCosts(found)))
    expect([thing, who, written]).toEqual([thing, who, bound]);
  // Of these the table has those that anything was found for.
  const operations = seen(operationsTable, describeOperations([], 1)).filter(([, , written]) => written !== undefined);
  expect(operations.length).toBeGreaterThan(10);
  for (const [thing, who, written, bound] of operations) expect([thing, who, written]).toEqual([thing, who, bound]);
});
