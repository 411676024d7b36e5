import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { leaseStack } from "../setup/shared-stack.ts";
import { processesOf } from "../setup/stack-processes.ts";
import { patient } from "../setup/wait.ts";
import { areInMemory } from "./process-memory.ts";

const stack = leaseStack();

const read = (path: string) => readFileSync(join(stack.dir, path), "utf8");
const programs = () => processesOf(stack).filter(({ command }) => !command.includes("postgres"));
const pidOf = (program: string) => programs().find(({ command }) => command.endsWith(program))?.pid ?? 0;

// One look at the memory of all processes, which is a gigabyte: it is for the key and the token.
test("of all processes of a stack, only the one that signs has the relayer's key in its memory, and besides it only the worker the signer's token", async () => {
  const key = read("keys/relayer-goerli").trim().replace(/^0x/, "");
  const token = Buffer.from(read("keys/signer-token").trim());
  // As text in one byte a letter and in two, and as the number that a signature is made with.
  const keys = [Buffer.from(key), Buffer.from(key, "utf16le"), Buffer.from(key, "hex")];
  // The worker reads it when it looks whether the signer answers.
  const reads = () => areInMemory(pidOf("src/processes/worker.ts"), [token]);
  await expect.poll(reads, { ...patient, interval: 1_000 }).toEqual([true]);
  const holders = programs().map(({ pid, command }) => {
    const [hasToken, ...hasKey] = areInMemory(pid, [token, ...keys]);
    const name = /src\/\S+\.ts$|bin\/mintyard\.ts start/.exec(command)?.[0] ?? command;
    return { name, hasToken, hasKey: hasKey.includes(true) };
  });
  expect(holders.length).toBeGreaterThanOrEqual(6);
  expect(holders.filter(({ hasKey }) => hasKey).map(({ name }) => name)).toEqual(["src/processes/signer.ts"]);
  expect(
    holders
      .filter(({ hasToken }) => hasToken)
      .map(({ name }) => name)
      .sort(),
  ).toEqual(["src/processes/signer.ts", "src/processes/worker.ts"]);
});

test("the HTTP process has neither the signer's token nor its address in its environment", () => {
  const environment = readFileSync(`/proc/${pidOf("src/processes/api.ts")}/environ`, "utf8");
  expect(environment).toContain("MINTYARD_DATA_DIR=");
  expect(environment).not.toMatch(/SIGNER|RELAYER_KEY/);
});
