import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { slowness } from "../setup/wait.ts";

const withZ3 = spawnSync("z3", ["--version"]).status === 0;
const prove = (...args: string[]) =>
  spawnSync(process.execPath, ["contracts/build/smt.ts", ...args], { encoding: "utf8", timeout: 240_000 * slowness });

test.skipIf(!withZ3)("V1: the supply arithmetic is proved", { timeout: 300_000 * slowness }, () => {
  const { stdout, stderr, status } = prove();
  expect([status, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("PROVED");
});

test.skipIf(!withZ3)("the proof fails for arithmetic that forgets the reserve", { timeout: 300_000 * slowness }, () => {
  const broken = join(temporaryFolder(), "Supply.sol");
  const source = readFileSync("contracts/src/core/Supply.sol", "utf8");
  writeFileSync(broken, source.replace("amount <= max - minted - reserve", "amount <= max - minted"));
  expect(prove(broken).status).toBe(1);
});
