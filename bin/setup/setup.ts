import { existsSync } from "node:fs";
import { access, constants } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { loadConfig } from "../../src/config/config.ts";
import { CommandError } from "../command-error.ts";
import { askAll, type Settings } from "./ask.ts";
import { drawSecrets, questions, withoutChain } from "./questions.ts";
import { writeWhole } from "./write-whole.ts";

const say = (text: string) => process.stdout.write(`${text}\n`);

/**
 * Asks for the settings of a production installation, checks each answer against the server, node or file that it
 * names, and writes the settings of all processes. The worker's own secrets go to `worker.env` next to that file, as
 * the units of deploy/systemd expect.
 *
 * @param file a new file. Only its owner may read either of the two.
 * @returns 0 once they are written.
 * @throws CommandError when one of them exists already, or the answers end early; neither is written then.
 */
export async function setup(file: string): Promise<number> {
  const path = resolve(file);
  const workerPath = join(dirname(path), "worker.env");
  for (const name of [path, workerPath])
    if (existsSync(name))
      throw new CommandError(`${name} is there already: move it away, or name another folder with --file`);
  await access(dirname(path), constants.W_OK).catch(() => {
    throw new CommandError(
      `${dirname(path)} is no folder that this user may write: make it, or name another file with --file`,
    );
  });
  say(
    "Each answer is checked before the next question. Enter takes what stands in brackets. Before the last answer only the data folder and the key of a new wallet are made.",
  );
  const asked = await askAll(questions);
  const settings = { ...withoutChain(asked), ...drawSecrets() };
  loadConfig(settings);
  const all = Object.entries(settings);
  const isWorkers = ([name]: [string, string]) => name.startsWith("RELAYER_KEY_FILE_");
  await writeWhole(workerPath, textOf("Of the worker alone", all.filter(isWorkers)));
  await writeWhole(
    path,
    textOf(
      "Of all processes",
      all.filter((one) => !isWorkers(one)),
    ),
  );
  say(`\nwritten: ${path} for all processes, ${workerPath} for the worker alone\n\nGo on with:`);
  for (const [index, step] of stepsAfter(path, workerPath, asked).entries()) say(`  ${index + 1}. ${step}`);
  return 0;
}

function textOf(whose: string, settings: readonly (readonly [string, string])[]): string {
  const lines = settings.map(([name, value]) => `${name}=${/^[\w@%+=:,./-]*$/.test(value) ? value : `'${value}'`}`);
  return `# ${whose}; made by \`mintyard setup\`. All other settings are in .env.example.\n${lines.join("\n")}\n`;
}

function stepsAfter(path: string, workerPath: string, { CHAIN = "", ...settings }: Settings): string[] {
  const suffix = CHAIN.toUpperCase();
  const pays = settings[`RELAYER_KEY_FILE_${suffix}`] !== undefined;
  const command = "npm run -s mintyard --";
  return [
    `set -a; . ${path}; . ${workerPath}; set +a`,
    ...(pays && settings[`FACTORY_${suffix}`] === undefined
      ? [`${command} factory deploy --chain ${CHAIN}, and add the two lines that it prints to ${path}`]
      : []),
    `${command} accounts create --name studio --tier growth`,
    "start api, worker and indexer (docs/operations.md, Putting it on the internet)",
    `${command} doctor`,
  ];
}
