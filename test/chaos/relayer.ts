// Deploys and updates through two API processes and two workers while everything around them breaks; then asks the chain.
//   node test/chaos/relayer.ts --deployments 300 --seed 1 [--permissive] [--repeats 1] [--lost-rows 10] [--defects NAME,…] [--older FOLDER] [--seconds 900]
import { parseArgs } from "node:util";
import { runChaos } from "./run.ts";

const { values } = parseArgs({
  options: {
    deployments: { type: "string", default: "300" },
    seed: { type: "string", default: "1" },
    seconds: { type: "string", default: "900" },
    rate: { type: "string", default: "0.12" },
    repeats: { type: "string", default: "1" },
    "lost-rows": { type: "string", default: "0" },
    defects: { type: "string", default: "" },
    older: { type: "string" },
    permissive: { type: "boolean", default: false },
    verbose: { type: "boolean", default: false },
  },
});
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(1));
const { tally, faults, ...figures } = await runChaos({
  deployments: Number(values.deployments),
  seed: Number(values.seed),
  seconds: Number(values.seconds),
  rate: Number(values.rate),
  repeats: Number(values.repeats),
  lostRows: Number(values["lost-rows"]),
  permissive: values.permissive,
  defects: values.defects.split(",").filter(Boolean),
  older: values.older,
  onProgress: (text) => process.stderr.write(`${text}\n`),
  onLine: (line) => values.verbose && process.stderr.write(`${line}\n`),
});
process.stderr.write(`${JSON.stringify(tally, null, 1)}\n`);
const lists = { lost: figures.lost, doubled: figures.doubled, wrongHashes: figures.wrongHashes };
const numbers = Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, list.length]));
const summary = {
  seed: values.seed,
  deployments: values.deployments,
  ...figures,
  ...numbers,
  faultKinds: faults.length,
};
process.stdout.write(`CHAOS ${JSON.stringify(summary)}\n`);
const broken = Object.values(lists).flat().length + figures.violations.length;
process.exit(broken === 0 ? 0 : 1);
