import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readmeSteps } from "./web/readme-steps.ts";

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

test("the README leads from a clone to a minted token in at most ten steps, by words that stand on the pages", async () => {
  const steps = await readmeSteps();
  expect(steps.at(0)).toContain("`npm start`");
  expect(steps.at(-1)).toContain("Your token appears");
  expect(steps.length).toBeLessThanOrEqual(10);
  const said = ["nine", "ten"][steps.length - 9] ?? String(steps.length);
  expect(readme).toContain(`From a fresh clone to a minted token in ${said} steps`);
  // The address of step 2 is where a start without settings listens.
  const port = /^PORT=(\d+)$/m.exec(readFileSync(join(root, ".env.example"), "utf8"))?.[1];
  expect(steps[1]).toContain(`<http://127.0.0.1:${port}/console>`);
  const web = join(root, "web");
  const files = readdirSync(web, { recursive: true, encoding: "utf8" }).filter((file) =>
    /^(?!dist).*\.tsx?$/.test(file),
  );
  const sources = files.map((file) => readFileSync(join(web, file), "utf8")).join("\n");
  const pressed = steps.flatMap((step) => [...step.matchAll(/\*\*([^*]+)\*\*/g)].map(([, name = ""]) => name));
  expect(pressed.length).toBeGreaterThan(7);
  // A number is put in when the page is shown.
  expect(pressed.filter((name) => !sources.includes(name.replace(/\d+$/, "${")))).toEqual([]);
});
