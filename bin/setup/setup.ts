import { existsSync } from "node:fs";
import { access, constants, rename, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { loadConfig } from "../../src/config/config.ts";
import { CommandError } from "../command-error.ts";
import { askAll, type Settings } from "./ask.ts";
import { drawSecrets, questions, withoutChain } from "./questions.ts";

const say = (text: string) => process.stdout.write(`${text}\n`);

/**
 * Asks what a production installation needs, checks each answer against what it names, and writes the settings for the
 * service's processes (an `EnvironmentFile` of systemd, an `env_file` of Compose).
 *
 * @param file a new file, which its owner alone may read.
 * @returns 0 once it is written.
 * @throws CommandError when the file is there already, or the answers end early; nothing is written then.
 */
export async function setup(file: string): Promise<number> {
  const path = resolve(file);
  if (existsSync(path)) throw new CommandError(`${path} is there already: move it away, or name another with --file`);
  await access(dirname(path), constants.W_OK).catch(() => {
    throw new CommandError(
      `${dirname(path)} is no folder that this user may write: make it, or name another file with --file`,
    );
  });
  say(
    "Each answer is checked before the next question. Enter takes what stands in brackets. Nothing is written before the last one.",
  );
  const asked = await askAll(questions);
  const settings = { ...withoutChain(asked), ...drawSecrets() };
  loadConfig(settings);
  const temporary = `${path}.${process.pid}`;
  await writeFile(temporary, textOf(settings), { mode: 0o600, flag: "wx" });
  await rename(temporary, path);
  say(`\nwritten: ${path} (its owner alone may read it)\n\nGo on with:`);
  for (const [index, step] of stepsAfter(path, asked).entries()) say(`  ${index + 1}. ${step}`);
  return 0;
}

function textOf(settings: Settings): string {
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${quoted(value)}`);
  return `# Settings of this installation, made by \`mintyard setup\`. All others are in .env.example.\n${lines.join("\n")}\n`;
}

/** As shells, systemd and Compose read it alike. @throws CommandError for a text that not all of them can have. */
function quoted(value: string): string {
  if (/^[\w@%+=:,./-]*$/.test(value)) return value;
  if (/['\\\n]/.test(value))
    throw new CommandError("a value has a quotation mark, a backslash or a new line in it; choose another password");
  return `'${value}'`;
}

function stepsAfter(path: string, { CHAIN = "", ...settings }: Settings): string[] {
  const suffix = CHAIN.toUpperCase();
  const pays = settings[`RELAYER_KEY_FILE_${suffix}`] !== undefined;
  const command = "npm run -s mintyard --";
  return [
    `set -a; . ${path}; set +a`,
    ...(pays && settings[`FACTORY_${suffix}`] === undefined
      ? [`${command} factory deploy --chain ${CHAIN}, and add the two lines that it prints to the file`]
      : []),
    `${command} accounts create --name studio --tier growth`,
    "start api, worker and indexer (docs/operations.md, Putting it on the internet)",
    `${command} doctor`,
  ];
}
