// `npm run -s mintyard -- dev bench attacks`: fast-path reads and /livez, alone and during attacks by 20 connections.
// Options: --tokens 260000 (four fifths in one contract) --seconds 15 (of each phase) --alone traits,documents,…
//          (attacks to run alone too) --dir <folder to keep the data in>
import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runAttacks } from "./run-attacks.ts";

const { values: options } = parseArgs({
  options: {
    tokens: { type: "string", default: "260000" },
    seconds: { type: "string", default: "15" },
    alone: { type: "string", default: "traits,reports,documents,status,eligibility" },
    dir: { type: "string" },
  },
});
const say = (line: string) => console.log(`${new Date().toISOString().slice(11, 19)} ${line}`);
const dir = options.dir ?? (await mkdtemp(join(tmpdir(), "mintyard-bench-")));
const load = () =>
  loadavg()
    .map((one) => one.toFixed(1))
    .join(", ");
say(`load before: ${load()}`);
try {
  const phases = await runAttacks(
    {
      ...{ dir, tokens: Number(options.tokens), seconds: Number(options.seconds) },
      alone: options.alone.split(",").filter(Boolean),
      compared: true,
    },
    say,
  );
  const ms = (value: number) => value.toFixed(1);
  console.log(
    "| attack | fast-path reads, p50 ms | p99 ms | most ms | failed | /livez, p50 ms | p99 ms | most ms | failed | heavy statements at once | cores of the attackers |",
  );
  for (const { name, honest, livez, heavy, attackerCores } of phases) {
    const cells = [honest, livez].flatMap((one) => [
      ms(one.p50),
      ms(one.p99),
      ms(one.most),
      `${one.failed} of ${one.count}`,
    ]);
    console.log(`| ${[name, ...cells, heavy, attackerCores.toFixed(2)].join(" | ")} |`);
  }
  for (const { name, outcomes } of phases)
    for (const [attack, seen] of Object.entries(outcomes)) console.log(`${name}: ${attack}: ${JSON.stringify(seen)}`);
  say(`load after: ${load()}`);
} finally {
  if (!options.dir) await rm(dir, { recursive: true, force: true });
}
