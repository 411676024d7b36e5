// Runs commands of bin/mintyard.ts one after another in one process, each in an environment of its own. It gets them as a JSON array
// in its argument, and writes what each printed as the last line of its standard output.

import { needsService, runProgram } from "../bin/command-line.ts";
import { createProgram } from "../bin/commands.ts";
import { joinRunningStack } from "../src/embedded/data-folder.ts";

/** A command without the program's name, and the whole environment that it runs in. */
export interface CommandRun {
  words: readonly string[];
  env: Record<string, string>;
}

export interface Printed {
  code: number;
  stdout: string;
  stderr: string;
}

/** Keeps what is written to a stream instead of passing it on. @returns gives it back, and the stream its own way of writing. */
function keepOutput(stream: NodeJS.WriteStream): () => string {
  const { write } = stream;
  let text = "";
  stream.write = ((piece: string | Uint8Array, ...rest: unknown[]) => {
    text += typeof piece === "string" ? piece : Buffer.from(piece).toString("utf8");
    const written = rest.at(-1);
    if (typeof written === "function") written();
    return true;
  }) as typeof stream.write;
  return () => {
    stream.write = write;
    return text;
  };
}

async function runCommand({ words, env }: CommandRun): Promise<Printed> {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.exitCode = 0;
  const [stdout, stderr] = [process.stdout, process.stderr].map(keepOutput);
  await runProgram(createProgram(), words, (command) => {
    if (needsService(command)) joinRunningStack(process.env);
  });
  const code = Number(process.exitCode);
  return { code, stdout: stdout?.() ?? "", stderr: stderr?.() ?? "" };
}

const printed: Printed[] = [];
for (const run of JSON.parse(process.argv[2] ?? "[]") as CommandRun[]) printed.push(await runCommand(run));
process.stdout.write(`${JSON.stringify(printed)}\n`, () => process.exit(0));
