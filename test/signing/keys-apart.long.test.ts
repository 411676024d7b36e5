import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { leaseStack } from "../setup/shared-stack.ts";
import { processesOf } from "../setup/stack-processes.ts";
import { occurrencesInMemory } from "./process-memory.ts";

const stack = leaseStack();

const read = (path: string) => readFileSync(join(stack.dir, path), "utf8");

test("of all processes of a stack, only the one that signs has the relayer's key in its memory", () => {
  const key = read("keys/relayer-goerli").trim().replace(/^0x/, "");
  // As text in one byte a letter and in two, and as the number that a signature is made with.
  const needles = [Buffer.from(key), Buffer.from(key, "utf16le"), Buffer.from(key, "hex")];
  const holders = processesOf(stack)
    .filter(({ command }) => !command.includes("postgres"))
    .filter(({ pid }) => occurrencesInMemory(pid, needles) > 0)
    .map(({ command }) => /src\/\S+\.ts$|bin\/mintyard\.ts start/.exec(command)?.[0] ?? command);
  expect(holders).toEqual(["src/processes/signer.ts"]);
});
