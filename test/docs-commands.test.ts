import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findCommand } from "../bin/command-line.ts";
import { createProgram } from "../bin/commands.ts";
import { devCommands } from "../bin/dev.ts";

const root = join(import.meta.dirname, "..");
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: Record<string, string> };
const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => /\.(md|ts|mjs|sol|yaml|service|template|example)$|Dockerfile$|^\.ci\//.test(file))
  .filter((file) => existsSync(join(root, file)));

interface Mention {
  where: string;
  words: string[];
}

/** What follows `start` wherever it is written, up to the end of the command. */
function mentionsOf(start: RegExp, paths: readonly string[] = files): Mention[] {
  return paths.flatMap((file) =>
    [...readFileSync(join(root, file), "utf8").matchAll(start)].map((match) => ({
      where: `${file}: ${match[0]}`,
      words: (match[1] ?? "").split(" "),
    })),
  );
}

const isScript = ([name = ""]: readonly string[]) => Object.hasOwn(scripts, name);
const program = createProgram();
// The second word can be an argument of a command that has no actions.
const isCommand = (words: readonly string[]) => words[0] === "help" || findCommand(program, words) !== null;
const isDevCommand = ([group = "", name = ""]: readonly string[]) =>
  devCommands.some((command) => command.name === `${group} ${name}`) || `${group}${name}` === "generate";

test("the README begins with the demo and the tests, and continuous integration runs both tiers", () => {
  const commands = (file: string, pattern: RegExp) =>
    [...readFileSync(join(root, file), "utf8").matchAll(pattern)].map(([line]) => line);
  expect(commands("README.md", /^npm (run demo|test)$/gm).slice(0, 2)).toEqual(["npm run demo", "npm test"]);
  expect(commands(".ci/run", /^npm .*$/gm)).toEqual(["npm test", "npm run test:long"]);
});

test("every npm script that is mentioned exists", () => {
  const mentions = mentionsOf(/\bnpm run (?:-s )?([a-z][\w:-]*)/g);
  expect(mentions.length).toBeGreaterThan(80);
  expect(mentions.filter(({ words }) => !isScript(words)).map(({ where }) => where)).toEqual([]);
  const short = mentionsOf(/\bnpm (test|start)\b/g);
  expect(short.length).toBeGreaterThan(20);
  expect(short.filter(({ words }) => !isScript(words))).toEqual([]);
});

test("commands are shown in the form that prints nothing but their output", () => {
  expect(
    mentionsOf(
      /npm run mintyard( --)?/g,
      files.filter((file) => file !== "CHANGELOG.md" && !file.startsWith("test/")),
    ),
  ).toEqual([]);
});

test("every command that is mentioned exists", () => {
  const mentions = [
    ...mentionsOf(/npm run -s mintyard -- ([a-z]+(?: [a-z-]+)?)/g),
    // The name is also a word of prose, so only what is set as code counts; tests make keys of such texts.
    ...mentionsOf(
      /`mintyard ([a-z]+(?: [a-z-]+)?)/g,
      files.filter((file) => !file.startsWith("test/")),
    ),
  ];
  expect(mentions.length).toBeGreaterThan(60);
  expect(mentions.filter(({ words }) => !isCommand(words)).map(({ where }) => where)).toEqual([]);
});

test("every developer command that is mentioned exists", () => {
  const mentions = mentionsOf(/mintyard -- dev ([a-z]+(?: [a-z-]+)?)/g);
  expect(mentions.length).toBeGreaterThan(25);
  expect(mentions.filter(({ words }) => !isDevCommand(words)).map(({ where }) => where)).toEqual([]);
});

test("every developer command is documented or says itself what it is for, and its files exist", () => {
  const files = devCommands.flatMap(({ script, args = [], packages }) => [
    script,
    ...args.filter((argument) => argument.endsWith(".ts")),
    ...(packages ? [`${packages}/package-lock.json`] : []),
  ]);
  expect(files.length).toBeGreaterThanOrEqual(devCommands.length);
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  expect(devCommands.filter(({ does }) => does.length < 10)).toEqual([]);
});

test("every npm script starts a file that exists, through the bootstrap", () => {
  // With `exec` npm's signals reach the program and not a shell in front of it.
  const programs = Object.entries(scripts).map(([name, text]) => ({
    name,
    words: text.replace(/^exec /, "").split(" "),
  }));
  expect(programs.filter(({ words }) => words[0] !== "node" || !existsSync(join(root, words[1] ?? "")))).toEqual([]);
  const started = programs.filter(({ words }) => words[1] === "bin/bootstrap.mjs");
  expect(started.filter(({ words }) => !existsSync(join(root, words[2] ?? "")))).toEqual([]);
  // npm itself starts these while it installs or packs.
  expect(programs.filter((program) => !started.includes(program)).map(({ name }) => name)).toEqual([
    "prepack",
    "postpack",
    "dependencies",
  ]);
});
