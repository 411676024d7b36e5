import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const readme = readFileSync(join(root, "README.md"), "utf8");

test("the README's two commands are the demo and the tests", () => {
  const commands = [...readme.matchAll(/^npm (run demo|test)$/gm)].map(([line]) => line);
  expect(commands.slice(0, 2)).toEqual(["npm run demo", "npm test"]);
});

test("the continuous-integration script runs the README's test command first, then the long tier", () => {
  const commands = [...readFileSync(join(root, ".ci/run"), "utf8").matchAll(/^npm .*$/gm)].map(([line]) => line);
  expect(commands).toEqual(["npm test", "npm run test:long"]);
});

test("the README shows the flow", () => {
  expect(readme).toMatch(/```mermaid\nflowchart /);
});

test("the README leads from a clone to a minted token in at most ten steps", () => {
  const [, text = ""] = /From a fresh clone to a minted token[^\n]*\n\n((?:\d+\. .*\n)+)/.exec(readme) ?? [];
  const steps = text.trim().split("\n");
  expect(steps.at(0)).toContain("`npm start`");
  expect(steps.at(-1)).toContain("Your token appears");
  expect(steps.length).toBeLessThanOrEqual(10);
});
