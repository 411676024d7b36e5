import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { leaseStack } from "../setup/shared-stack.ts";
import { processesOf } from "../setup/stack-processes.ts";
import { patient } from "../setup/wait.ts";
import { occurrencesInMemory } from "./process-memory.ts";

const stack = leaseStack();

const read = (path: string) => readFileSync(join(stack.dir, path), "utf8");

/** Programs of the stack that have one of the needles in their memory. */
function holdersOf(needles: readonly Buffer[]): string[] {
  return processesOf(stack)
    .filter(({ command }) => !command.includes("postgres"))
    .filter(({ pid }) => occurrencesInMemory(pid, needles) > 0)
    .map(({ command }) => /src\/\S+\.ts$|bin\/mintyard\.ts start/.exec(command)?.[0] ?? command);
}

test("of all processes of a stack, only the one that signs has the relayer's key in its memory", () => {
  const key = read("keys/relayer-goerli").trim().replace(/^0x/, "");
  // As text in one byte a letter and in two, and as the number that a signature is made with.
  const needles = [Buffer.from(key), Buffer.from(key, "utf16le"), Buffer.from(key, "hex")];
  expect(holdersOf(needles)).toEqual(["src/processes/signer.ts"]);
});

test("the HTTP process has neither the signer's token nor its address", async () => {
  const token = read("keys/signer-token").trim();
  // The worker reads it when it looks whether the signer answers.
  await expect
    .poll(() => holdersOf([Buffer.from(token)]).sort(), patient)
    .toEqual(["src/processes/signer.ts", "src/processes/worker.ts"]);
  const api = processesOf(stack).find(({ command }) => command.endsWith("src/processes/api.ts"));
  const environment = readFileSync(`/proc/${api?.pid}/environ`, "utf8");
  expect(environment).toContain("MINTYARD_DATA_DIR=");
  expect(environment).not.toMatch(/SIGNER|RELAYER_KEY/);
});
