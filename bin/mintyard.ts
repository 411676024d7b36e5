// The command line: `node bin/mintyard.ts <command>`, or `npm run -s mintyard -- <command>`.
// Only what every command needs is imported here.
import { joinRunningStack } from "../src/embedded/running-stack.ts";
import { type Command, findCommand, UsageError, usageLines } from "./command-line.ts";
import { commands } from "./commands.ts";

const introduction = `usage: mintyard <command>

Beside start, demo, test and dev, commands work on the service that the environment names (DATABASE_URL,
RPC_URL_<CHAIN>, …); without DATABASE_URL, on the one that runs in MINTYARD_DATA_DIR (.mintyard).

`;

process.exitCode = await main(process.argv.slice(2));
// An open channel to the process that started this one would keep it running.
if (process.connected) process.disconnect();

/** @returns the exit code: 2 when the command line itself is wrong, so nothing was done. */
async function main(argv: readonly string[]): Promise<number> {
  const words = helpTopic(argv);
  if (words?.length === 0) return print(`${introduction}${usageLines(commands)}`);
  const topic = words ? concerning(words) : [];
  if (topic.length > 0) return print(usageOf(topic));
  let found: Command | null = null;
  try {
    const [command, args] = findCommand(commands, words ?? argv);
    found = command;
    const run = command.parse(args);
    if (!command.alone) joinRunningStack(process.env);
    return await run();
  } catch (error) {
    const { describeFailure } = await import("../src/config/config.ts");
    const name = found?.name ?? words?.[0] ?? argv[0];
    process.stderr.write(`mintyard ${name}: ${describeFailure(error)}\n`);
    if (!(error instanceof UsageError)) return 1;
    process.stderr.write(usageOf(found ? [found] : concerning(argv.slice(0, 1))));
    return 2;
  }
}

/** The words that help is asked about, none for all of it; null when it is not asked for. */
function helpTopic(argv: readonly string[]): readonly string[] | null {
  const [first = "help"] = argv;
  if (["help", "--help", "-h"].includes(first)) return argv.slice(1);
  const raw = commands.some((command) => command.raw && command.name === first);
  return !raw && argv.includes("--help") ? argv.filter((word) => !word.startsWith("-")) : null;
}

function concerning(words: readonly string[]): readonly Command[] {
  const start = words.join(" ");
  return commands.filter(({ name }) => name === start || name.startsWith(`${start} `));
}

function usageOf(concerned: readonly Command[]): string {
  if (concerned.length === 0) return "`mintyard help` says what each does\n";
  return `usage:\n${usageLines(concerned, "mintyard ")}`;
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}
