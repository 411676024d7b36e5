import { spawn } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bareEnvironment } from "../setup/bare-environment.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const root = join(import.meta.dirname, "../..");
let database: TestDatabase;
const dir = temporaryFolder();

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => {
  await database?.drop();
});

/** Runs a program as an operator's script would, from anywhere, with the log at its most talkative. */
async function run(program: string, args: readonly string[]): Promise<{ code: number | null; stdout: string }> {
  const child = spawn(program, args, {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...bareEnvironment,
      HOME: dir,
      DATABASE_URL: database.url,
      KEY_PEPPER: "of the tests",
      MINTYARD_DATA_DIR: dir,
      LOG_LEVEL: "debug",
    },
  });
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    stdout += chunk;
  });
  const code = await new Promise<number | null>((done) => child.once("close", done));
  return { code, stdout };
}

test.each([
  ["npm run -s mintyard --", "npm", ["run", "-s", "mintyard", "--"]],
  ["./bin/mintyard.mjs", "./bin/mintyard.mjs", []],
])("%s prints the output of a command and nothing else", async (_form, program, before) => {
  const { code, stdout } = await run(program, [...before, "keys", "create", "--name", "studio"]);
  expect(code).toBe(0);
  expect(stdout.endsWith("\n")).toBe(true);
  expect(stdout.trimEnd().split("\n")).toHaveLength(1);
  const made = JSON.parse(stdout) as Record<string, string>;
  expect(JSON.stringify(made)).toMatch(/mty_live_/);
});
