import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { describeCosts } from "./rows.ts";

test("the bounds in docs/limits.md are those of the code", () => {
  // What requests cost is measured elsewhere; what bounds them is known without.
  const cost = { rpcCalls: 0, rows: 0, processorMs: 0 };
  const kinds = [
    "deployment",
    "update",
    "dry run",
    "eligibility",
    "sale",
    "status",
    "upload",
    "key",
    "sign-up",
    "read",
    "refused",
  ];
  const seen = Object.fromEntries(kinds.map((kind) => [kind, cost]));
  const rows = describeCosts({ seen, gasOfOne: 0, reservedBySpent: 0, dayEur: 1 });
  const lines = readFileSync(new URL("../../docs/limits.md", import.meta.url), "utf8").split("\n");
  for (const { thing, who, bound } of rows) {
    const line = lines.find((text) => text.startsWith(`| ${thing} | ${who} |`));
    expect([thing, who, line?.split("|").at(-2)?.trim()]).toEqual([thing, who, bound]);
  }
});
