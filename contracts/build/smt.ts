// Proves the supply arithmetic (V1) with the compiler's SMT checker. Needs `z3` on the PATH (Debian: apt install z3).
//   node contracts/build/smt.ts [another Supply.sol]
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

type Message = { errorCode?: string; severity: string; formattedMessage: string };
type Solc = { compile(input: string, callbacks: { smtSolver: (query: string) => object }): string };
const solc = createRequire(import.meta.url)("solc") as Solc;
/** As the compiler's own helper calls it, with a limit of work instead of one of time. */
const z3 = ["-smt2", "-in", "rlimit=200000000", "rewriter.pull_cheap_ite=true", "fp.spacer.q3.use_qgen=true"];
z3.push("fp.spacer.mbqi=false", "fp.spacer.ground_pobs=false");

if (spawnSync("z3", ["--version"]).status !== 0) {
  console.log("SKIPPED: no z3 on the PATH, nothing was proved");
  process.exit(0);
}
const root = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), "utf8");
const model = "contracts/test/smt/SupplyModel.sol";
const library = "contracts/src/core/Supply.sol";
const input = {
  language: "Solidity",
  sources: { [model]: { content: read(model) }, [library]: { content: read(process.argv[2] ?? library) } },
  settings: {
    evmVersion: "cancun",
    outputSelection: { "*": { "*": ["abi"] } },
    modelChecker: {
      engine: "chc",
      solvers: ["smtlib2"],
      targets: ["assert", "underflow", "overflow"],
      contracts: { [model]: ["SupplyModel"] },
      showUnproved: true,
      timeout: 600_000,
    },
  },
};
const output = JSON.parse(solc.compile(JSON.stringify(input), { smtSolver: ask }));
const messages = (output.errors ?? []) as Message[];
for (const message of messages) console.log(message.formattedMessage);
// 1391: "CHC: n verification condition(s) proved safe". The checker succeeds with a mere warning when it could not ask.
const proved = messages.some((message) => message.errorCode === "1391");
const warned = messages.some((message) => message.severity !== "info");
if (warned || !proved) throw new Error("the supply arithmetic is not proved");
console.log("PROVED");

function ask(query: string): object {
  return { contents: spawnSync("z3", z3, { input: query, encoding: "utf8", maxBuffer: 2 ** 28 }).stdout };
}
