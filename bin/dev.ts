// `mintyard dev`: the developers' commands. They bring their own databases, chains and servers.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type AnyCommand, addGroup, handOn, standsAlone } from "./command-line.ts";

const root = join(import.meta.dirname, "..");
const vitest = "node_modules/vitest/vitest.mjs";

export interface DevCommand {
  name: string;
  does: string;
  /** A script for this Node, and its first arguments; those of the command line follow. */
  script: string;
  args?: readonly string[];
  /** Defaults that the environment overrides. */
  env?: Readonly<Record<string, string>>;
  /** A folder with packages that the project itself does not need; they are installed first. */
  packages?: string;
}

export const devCommands: readonly DevCommand[] = [
  { name: "generate abi", does: "contracts/abi from the Solidity sources", script: "bin/generate-abi.ts" },
  {
    name: "generate schema",
    does: "schema.graphql, openapi.json and roles.sql from the code",
    script: "bin/generate-schema.ts",
  },
  {
    name: "generate client",
    does: "types of the client from openapi.json and schema.graphql",
    script: "bin/generate-client.ts",
  },
  { name: "generate gas", does: "the gas snapshot of the contracts", script: "contracts/build/gas-snapshot.ts" },
  {
    name: "build standard-json",
    does: "what a block explorer needs to verify the contracts, below artifacts/",
    script: "contracts/build/standard-json.ts",
  },
  {
    name: "bench attacks",
    does: "fast-path reads and /livez beside dear reads, alias floods and new documents",
    script: "bench/attacks/bench-attacks.ts",
  },
  {
    name: "bench events",
    does: "how soon webhooks and streams tell of a block, and what they cost",
    script: "bench/events/bench-events.ts",
  },
  {
    name: "bench gas",
    does: "gas of the contracts beside others'",
    script: "bench/gas/bench-gas.ts",
    packages: "bench/gas",
  },
  { name: "bench index", does: "speed of the index beside per-event upserts", script: "bench/index/bench-index.ts" },
  { name: "bench mints", does: "mints a second and gas, beside a plain loop", script: "bench/mints/bench-mints.ts" },
  {
    name: "bench launch",
    does: "10,000 files through the launch command and through the console, each cut once",
    script: "bench/pages/bench-launch.ts",
  },
  {
    name: "bench providers",
    does: "faults of providers: this service beside viem and Ponder",
    script: "bench/providers/bench-providers.ts",
  },
  { name: "bench reads", does: "reads of both APIs beside a bare server", script: "bench/reads/bench-reads.ts" },
  {
    name: "bench versions",
    does: "reads of this version beside those of another, and beside bare servers with the other's statements",
    script: "bench/reads/compare-reads.ts",
  },
  { name: "bench relay", does: "time from a request to its hash", script: "bench/relay/bench-relay.ts" },
  {
    name: "bench reveal",
    does: "10,000 tokens read before and after their reveal",
    script: vitest,
    args: ["run", "test/metadata/reveal.long.test.ts"],
    env: { REVEAL_TOKENS: "10000" },
  },
  {
    name: "bench scaling",
    does: "one API process, two, and two with a standby",
    script: "bench/scaling/bench-scaling.ts",
  },
  {
    name: "bench start",
    does: "time until the stack is ready, by part, and its memory, processor time and transactions at rest",
    script: "bench/start/bench-start.ts",
  },
  {
    name: "bench stores",
    does: "uploads and reads of blocks in S3, with and without copies, beside the local folder",
    script: "bench/uploads/bench-stores.ts",
  },
  {
    name: "bench uploads",
    does: "time and memory of uploads, and the gateway",
    script: "bench/uploads/bench-uploads.ts",
  },
  {
    name: "bench visitors",
    does: "the mint page on a slow processor, and 500 visitors while 200 tokens are minted",
    script: "bench/pages/bench-visitors.ts",
  },
  {
    name: "chaos events",
    does: "receivers of webhooks and streams beside faults, kills and cuts",
    script: "test/events/chaos/main.ts",
  },
  { name: "chaos indexer", does: "the indexer beside faults and kills", script: "test/indexing/chaos/main.ts" },
  { name: "chaos mints", does: "mints on clients' behalf beside faults and kills", script: "test/chaos/mints.ts" },
  { name: "chaos relayer", does: "the relayer beside faults and kills", script: "test/chaos/relayer.ts" },
  {
    name: "chaos defects",
    does: "seeded defects of the relayer, each of which must be found",
    script: vitest,
    args: ["run", "test/chaos/defects.long.test.ts"],
    env: { CHAOS_SHOW: "1" },
  },
  {
    name: "hostile indexer",
    does: "hostile contracts with 50 seeds",
    script: vitest,
    args: ["run", "test/indexing/hostile.long.test.ts"],
    env: { HOSTILE_SEEDS: "50" },
  },
  {
    name: "kill uploads",
    does: "an upload killed at 50 points",
    script: vitest,
    args: ["run", "test/ipfs/kill-uploads.long.test.ts"],
    env: { KILL_POINTS: "50" },
  },
  {
    name: "fuzz http",
    does: "100,000 malformed requests; FUZZ_SEED repeats a run",
    script: vitest,
    args: ["run", "test/fuzz/http.long.test.ts"],
    env: { FUZZ_REQUESTS: "100000" },
  },
  {
    name: "fuzz contracts",
    does: "each kind of contract beside its reference, 100,000 random calls each",
    script: "contracts/build/long-fuzz.ts",
  },
  {
    name: "make upgrade-dump",
    does: "the dump of a VERSION that the upgrade test starts from, in test/fixtures/upgrade",
    script: "test/upgrade/make-dump.ts",
  },
  {
    name: "measure limits",
    does: "what each account can cost, and the table in docs/limits.md",
    script: vitest,
    args: ["run", "test/economics/limits.long.test.ts"],
    env: { LIMITS_WRITE: "1" },
  },
  {
    name: "prove contracts",
    does: "the supply arithmetic by the SMT checker; needs z3",
    script: "contracts/build/smt.ts",
  },
];

/**
 * Adds `mintyard dev GROUP NAME …`; arguments after the name go to the developer command. `dev generate` alone runs its
 * whole group, and `dev` alone lists the commands.
 */
export function addDevCommands(program: AnyCommand): void {
  const dev: AnyCommand = addGroup(
    program,
    "dev",
    "benchmarks, chaos runs, generated files; alone it lists them",
    async () => {
      dev.outputHelp();
      return 0;
    },
  );
  standsAlone(dev);
  const groups = Map.groupBy(devCommands, ({ name }) => name.split(" ")[0] ?? "");
  for (const [name, commands] of groups) {
    const runsAll = name === "generate" ? async () => await runAll(commands) : undefined;
    const group = addGroup(dev, name, name === "generate" ? "all generated files" : `the commands of ${name}`, runsAll);
    for (const command of commands) {
      const action = group.command(command.name.slice(name.length + 1)).description(command.does);
      handOn(action, async (args) => await runDevCommand(command, args));
    }
  }
}

async function runAll(commands: readonly DevCommand[]): Promise<number> {
  for (const command of commands) {
    process.stderr.write(`── ${command.name}\n`);
    const code = await runDevCommand(command, []);
    if (code !== 0) return code;
  }
  return 0;
}

/** Runs a command in a child process, which shares this terminal and ends with this one. @returns its exit code. */
export async function runDevCommand(command: DevCommand, extra: readonly string[]): Promise<number> {
  const script = join(root, command.script);
  if (!existsSync(script))
    throw new Error(`${command.script} is not here: developer commands need the whole repository and its packages`);
  if (command.packages) {
    const install = ["ci", "--prefix", join(root, command.packages), "--no-audit", "--no-fund"];
    const code = await run("npm", install, {});
    if (code !== 0) return code;
  }
  return await run(process.execPath, [...process.execArgv, script, ...(command.args ?? []), ...extra], command.env);
}

async function run(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(program, args, {
    cwd: root,
    env: { ...env, ...process.env },
    // No messages go over the channel. It closes when this process is killed, and the command can notice that.
    stdio: ["inherit", "inherit", "inherit", "ipc"],
  });
  const forward = (signal: NodeJS.Signals) => child.kill(signal);
  const end = () => child.kill("SIGTERM");
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, forward);
  process.on("disconnect", end);
  try {
    return await new Promise<number>((done, failed) => {
      child.once("error", failed);
      child.once("exit", (code, signal) => done(code ?? (signal === "SIGKILL" ? 137 : 1)));
    });
  } finally {
    for (const signal of signals) process.off(signal, forward);
    process.off("disconnect", end);
  }
}
