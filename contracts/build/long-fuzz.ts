// The differential tests for longer: over 100,000 calls to the collection and to each kind of product. Takes some
// minutes each.
//   node contracts/build/long-fuzz.ts [collection|products] [runs]
import { runSuite } from "./run-suite.ts";

/** Runs that are 100,000 calls, and the calls of one run. */
const plans = { collection: { runs: 1_800, calls: 64 }, products: { runs: 6_400, calls: 16 } } as const;
const chosen = process.argv[2];

let agreed = true;
for (const suite of ["collection", "products"] as const) {
  if (chosen && chosen !== suite) continue;
  const { calls } = plans[suite];
  const runs = Number(process.argv[3] ?? plans[suite].runs);
  const started = Date.now();
  const { passed, output } = await runSuite(suite, [undefined], runs);
  console.log(output.slice(output.indexOf("Running Solidity tests")));
  const seconds = Math.round((Date.now() - started) / 1000);
  console.log(`${suite}: ${runs} runs of ${calls} calls in ${seconds} s: ${passed[0] ? "agreed" : "DISAGREED"}`);
  agreed &&= passed[0] === true;
}
process.exit(agreed ? 0 : 1);
