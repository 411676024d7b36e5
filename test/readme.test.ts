import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
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

test("the README shows the flow, and every page of ours that it and the guides point at exists", () => {
  expect(readme).toMatch(/```mermaid\nflowchart /);
  const pages = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md"))
      .map((name) => `docs/${name}`),
  ];
  const missing = pages.flatMap((page) =>
    [...readFileSync(join(root, page), "utf8").matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)]
      .map(([, target = ""]) => join(root, dirname(page), target))
      .filter((target) => !existsSync(target))
      .map((target) => `${page}: ${target}`),
  );
  expect(missing).toEqual([]);
});
