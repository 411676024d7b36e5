// npm run -s mintyard -- dev chaos events --seed 1 --tokens 20000 --reorgs 60 --kills 12 --cuts 200
import { parseArgs } from "node:util";
import { runChaos } from "../../indexing/chaos/run-chaos.ts";
import { faultsOf } from "./faults-of.ts";
import { startListeners } from "./listeners.ts";

const text = (value: string) => ({ type: "string", default: value }) as const;
const { values } = parseArgs({
  options: {
    seed: text("1"),
    tokens: text("20000"),
    reorgs: text("60"),
    "deep-reorgs": text("5"),
    kills: text("12"),
    cuts: text("200"),
    faults: text("500"),
    minutes: text("60"),
  },
});
const [seed, kills, cuts] = [values.seed, values.kills, values.cuts].map(Number) as [number, number, number];
const result = await runChaos(
  {
    ...{
      seed,
      kills,
      tokens: Number(values.tokens),
      faults: Number(values.faults),
      maxMs: Number(values.minutes) * 60_000,
    },
    // Within the finality of Polygon, which nothing takes back; deeper than what its nodes call safe.
    ...{ reorgs: Number(values.reorgs), deepReorgs: Number(values["deep-reorgs"]), deepest: 90, chainId: 137 },
  },
  (line) => process.stderr.write(`${line}\n`),
  async (parts) => await startListeners(parts, { seed, cuts, kills: Math.ceil(kills / 2) }),
);
process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
const faults = faultsOf(result);
for (const fault of faults) process.stderr.write(`${fault}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
