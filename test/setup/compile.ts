import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Abi, Hex } from "viem";

export interface CompiledContract {
  abi: Abi;
  bytecode: Hex;
}

interface CompilerOutput {
  errors?: { severity: string; formattedMessage: string }[];
  contracts?: Record<string, Record<string, { abi: Abi; evm: { bytecode: { object: string } } }>>;
}

const require = createRequire(import.meta.url);
const root = join(import.meta.dirname, "../..");

/**
 * Compiles Solidity text with the solc of node_modules; imports are looked up there. The answer is kept by content: a
 * compilation takes seconds, and several test files want the same contracts.
 *
 * @returns every contract of the given text by its name, and of the imported files those in `alsoOf`.
 * @throws Error with the compiler's own words.
 */
export function compileSolidity(source: string, alsoOf: readonly string[] = []): Record<string, CompiledContract> {
  const input = JSON.stringify({
    language: "Solidity",
    sources: { "test.sol": { content: source } },
    settings: {
      evmVersion: "cancun",
      optimizer: { enabled: true, runs: 200 },
      outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } },
    },
  });
  const cached = cacheFile(input);
  const known = existsSync(cached);
  const text = known ? readFileSync(cached, "utf8") : compile(input);
  if (!known) keep(cached, text);
  const { contracts } = JSON.parse(text) as CompilerOutput;
  return Object.fromEntries(
    ["test.sol", ...alsoOf].flatMap((file) =>
      Object.entries(contracts?.[file] ?? {}).map(([name, { abi, evm }]) => [
        name,
        { abi, bytecode: `0x${evm.bytecode.object}` satisfies Hex },
      ]),
    ),
  );
}

function compile(input: string): string {
  const solc = require("solc") as {
    compile(input: string, callbacks: { import(path: string): { contents: string } | { error: string } }): string;
  };
  const text = solc.compile(input, { import: readImport });
  const { errors = [] } = JSON.parse(text) as CompilerOutput;
  const refusals = errors.filter((error) => error.severity === "error");
  if (refusals.length > 0) throw new Error(refusals.map((error) => error.formattedMessage).join("\n"));
  return text;
}

/** The lockfile stands for the compiler and for what is imported. */
function cacheFile(input: string): string {
  const digest = createHash("sha256")
    .update(input)
    .update(readFileSync(join(root, "package-lock.json")));
  return join(root, "node_modules/.cache/mintyard-solidity", `${digest.digest("hex")}.json`);
}

/** Renamed into place: another worker may be reading or writing the same. */
function keep(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.${process.pid}`, text);
  renameSync(`${file}.${process.pid}`, file);
}

function readImport(path: string): { contents: string } | { error: string } {
  try {
    return { contents: readFileSync(require.resolve(path), "utf8") };
  } catch (error) {
    return { error: String(error) };
  }
}
