// npm run -s mintyard -- dev chaos indexer --seed 7 --tokens 1000000 --reorgs 500 --kills 200 --faults 10000 --minutes 600
import { parseArgs } from "node:util";
import { runChaos } from "./run-chaos.ts";

const text = (value: string) => ({ type: "string", default: value }) as const;
const { values } = parseArgs({
  options: {
    seed: text("1"),
    tokens: text("1000000"),
    reorgs: text("500"),
    kills: text("200"),
    faults: text("10000"),
    "deep-reorgs": text("20"),
    minutes: text("600"),
  },
});
const result = await runChaos(
  {
    seed: Number(values.seed),
    tokens: Number(values.tokens),
    reorgs: Number(values.reorgs),
    kills: Number(values.kills),
    faults: Number(values.faults),
    deepReorgs: Number(values["deep-reorgs"]),
    maxMs: Number(values.minutes) * 60_000,
  },
  (line) => process.stderr.write(`${line}\n`),
);
process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
process.exitCode = Object.keys(result.differing).length === 0 && result.wrong === 0 ? 0 : 1;
