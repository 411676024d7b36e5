// Mints through two API processes and two workers while everything around them breaks; then asks the chain.
//   node test/chaos/mints.ts --mints 1000 --seed 1 [--repeats 1] [--seconds 900]
//   node test/chaos/mints.ts --loop 3000 --seed 1 [--loops 6] [--seconds 900]
import { parseArgs } from "node:util";
import { runMintChaos } from "./mint-run.ts";
import { runOldLoop } from "./old-loop.ts";

const { values } = parseArgs({
  options: {
    mints: { type: "string", default: "1000" },
    seed: { type: "string", default: "1" },
    seconds: { type: "string", default: "900" },
    rate: { type: "string", default: "0.12" },
    repeats: { type: "string", default: "1" },
    loop: { type: "string" },
    loops: { type: "string", default: "6" },
    verbose: { type: "boolean", default: false },
  },
});
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(1));
const given = { seed: Number(values.seed), seconds: Number(values.seconds) };
process.exit((await (values.loop === undefined ? mintBesideFaults() : loop(Number(values.loop)))) === 0 ? 0 : 1);

/** @returns the number of findings. */
async function mintBesideFaults(): Promise<number> {
  const { tally, faults, ...figures } = await runMintChaos({
    ...given,
    mints: Number(values.mints),
    rate: Number(values.rate),
    repeats: Number(values.repeats),
    onProgress: (text) => process.stderr.write(`${text}\n`),
    onLine: (line) => values.verbose && process.stderr.write(`${line}\n`),
  });
  process.stderr.write(`${JSON.stringify(tally, null, 1)}\n`);
  const { lost, doubled, wrong, violations } = figures;
  const numbers = { lost: lost.length, doubled: doubled.length, wrong: wrong.length, faultKinds: faults.length };
  const findings = [...lost, ...doubled, ...wrong, ...violations];
  process.stdout.write(`CHAOS ${JSON.stringify({ ...given, ...figures, ...numbers, findings })}\n`);
  return findings.length;
}

/** @returns the number of findings. */
async function loop(mints: number): Promise<number> {
  const loops = Number(values.loops);
  const figures = await runOldLoop({ ...given, mints, loops, lostAnswers: 0.08, rate: 0.03, killEveryMs: 10_000 });
  process.stdout.write(`LOOP ${JSON.stringify({ ...given, loops, ...figures })}\n`);
  const { doubled, wrong, violations, unanswered, tokens } = figures;
  return doubled.length + wrong.length + violations.length + unanswered + Math.abs(tokens - mints);
}
