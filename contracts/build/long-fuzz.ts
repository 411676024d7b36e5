// The differential test for longer: 1,800 runs of 64 steps are over 100,000 calls. Takes some minutes.
//   node contracts/build/long-fuzz.ts [runs]
import { runWithDefect } from "./run-defect.ts";

const runs = Number(process.argv[2] ?? 1800);
const started = Date.now();
const { passed, output } = await runWithDefect(undefined, runs);
console.log(output.slice(output.indexOf("Running Solidity tests")));
console.log(
  `${runs} runs of 64 steps in ${Math.round((Date.now() - started) / 1000)} s: ${passed ? "agreed" : "DISAGREED"}`,
);
process.exit(passed ? 0 : 1);
