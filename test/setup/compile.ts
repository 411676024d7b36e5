import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
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

/**
 * Compiles Solidity text with the solc of node_modules; imports are looked up there.
 *
 * @returns every contract of the given text by its name, and of the imported files those in `alsoOf`.
 * @throws Error with the compiler's own words.
 */
export function compileSolidity(source: string, alsoOf: readonly string[] = []): Record<string, CompiledContract> {
  const solc = require("solc") as {
    compile(input: string, callbacks: { import(path: string): { contents: string } | { error: string } }): string;
  };
  const input = {
    language: "Solidity",
    sources: { "test.sol": { content: source } },
    settings: {
      evmVersion: "cancun",
      optimizer: { enabled: true, runs: 200 },
      outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: readImport })) as CompilerOutput;
  const errors = (output.errors ?? []).filter((error) => error.severity === "error");
  if (errors.length > 0) throw new Error(errors.map((error) => error.formattedMessage).join("\n"));
  return Object.fromEntries(
    ["test.sol", ...alsoOf].flatMap((file) =>
      Object.entries(output.contracts?.[file] ?? {}).map(([name, { abi, evm }]) => [
        name,
        { abi, bytecode: `0x${evm.bytecode.object}` satisfies Hex },
      ]),
    ),
  );
}

function readImport(path: string): { contents: string } | { error: string } {
  try {
    return { contents: readFileSync(require.resolve(path), "utf8") };
  } catch (error) {
    return { error: String(error) };
  }
}
