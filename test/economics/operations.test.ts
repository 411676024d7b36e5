import { expect, test } from "vitest";
import { type Attack, compareEntries, isAttacked } from "./attack.ts";
import { attackTable } from "./attack-table.ts";
import { listOperations } from "./operations.ts";

test("every operation that is served is attacked, or says why it cannot cost anything", () => {
  const operations = listOperations();
  expect(compareEntries(operations, attackTable)).toEqual({ unattacked: [], gone: [] });
  for (const known of ["POST /v0/contracts/collections", "GET /ipfs/:cid", "GET /status", "subscription events"])
    expect(operations).toContain(known);
  for (const kind of ["GET /v1/", "POST /auth/", "GET /mint/", "GET /docs", "GET /console", "query ", "mutation "])
    expect(operations.filter((operation) => operation.startsWith(kind)).length, kind).toBeGreaterThan(0);
});

test("a new operation without an attack is named, and so is an attack whose operation has gone", () => {
  const attack: Attack = { worst: "as it is", run: () => Promise.reject(new Error("not run")) };
  const entries = { "GET /v0/old": attack, "GET /v0/kept": attack, "GET /metrics": { cannotCost: "operator only" } };
  expect(compareEntries(["GET /v0/kept", "GET /metrics", "query fresh", "POST /v2/fresh"], entries)).toEqual({
    unattacked: ["query fresh", "POST /v2/fresh"],
    gone: ["GET /v0/old"],
  });
});

test("few operations are left out, each with a reason", () => {
  const leftOut = Object.entries(attackTable).filter(([, entry]) => !isAttacked(entry));
  expect(
    leftOut
      .map(([operation]) => operation)
      .filter((operation) => !/^POST|top$|^GET \/(metrics|livez)$/.test(operation)),
  ).toEqual([]);
  expect(leftOut.length).toBeLessThanOrEqual(9);
});
