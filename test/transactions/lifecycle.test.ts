import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endedStates, lifecycle, undecidedStates } from "../../src/transactions/lifecycle.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

test("the states of a request and their edges are those of the database", async () => {
  const { rows } = await database.pool.query<{ from_state: string; to_state: string }>(
    "SELECT from_state, to_state FROM service.intent_edge",
  );
  const stored = rows.map(({ from_state, to_state }) => `${from_state} → ${to_state}`);
  const written = Object.entries(lifecycle).flatMap(([from, next]) => next.map((to) => `${from} → ${to}`));
  expect(written.sort()).toEqual(stored.sort());
});

test("a request has ended where no edge leads on", () => {
  const withoutNext = Object.entries(lifecycle).flatMap(([state, next]) => (next.length === 0 ? [state] : []));
  expect([...endedStates].sort()).toEqual(withoutNext.sort());
  expect(withoutNext.sort()).toEqual(["cancelled", "expired", "failed_onchain", "finalized", "retried"]);
});

test("a client waits in every state but where the request is confirmed or has ended", () => {
  expect([...undecidedStates, "confirmed", ...endedStates].sort()).toEqual(Object.keys(lifecycle).sort());
});

test("the folder's README names every state", () => {
  const text = readFileSync(join(import.meta.dirname, "../../src/transactions/README.md"), "utf8");
  expect(Object.keys(lifecycle).filter((state) => !new RegExp(`\\b${state}\\b`).test(text))).toEqual([]);
});

test("the rules import types alone, and neither wait nor look at a clock", () => {
  const text = readFileSync(join(import.meta.dirname, "../../src/transactions/lifecycle.ts"), "utf8");
  const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
  expect(code.match(/^import (?!type ).*$/gm)).toBeNull();
  expect(code.match(/\b(await|async|Promise|Date|performance|process|require)\b/g)).toBeNull();
});
