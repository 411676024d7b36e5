import type { Command, Option } from "@commander-js/extra-typings";
import { CommanderError, InvalidArgumentError } from "commander";
import { CommandError } from "./command-error.ts";

/** An argument that only the command itself could find to be wrong. It is reported like a mistyped option. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

// The parameters are what commander infers from arguments and options, which differ for each command.
// biome-ignore lint/suspicious/noExplicitAny: any command, as commander types it
export type AnyCommand = Command<any, any, any>;

/** Commands that bring their own parts, so they are not connected to the stack that runs here. */
const alone = new WeakSet<AnyCommand>();
/** What a group of actions does without an action. */
const withoutAction = new WeakMap<AnyCommand, () => Promise<number>>();

export function standsAlone<C extends AnyCommand>(command: C): C {
  alone.add(command);
  return command;
}

/** Whether the command works on the service that the environment configures or that runs in MINTYARD_DATA_DIR. */
export function needsService(command: AnyCommand): boolean {
  return !alone.has(command) && (command.parent === null || needsService(command.parent));
}

/** Adds a command with actions of its own. `run` is what it does without one; unless given, one is required. */
export function addGroup(program: AnyCommand, name: string, does: string, run?: () => Promise<number>): Command {
  const group = program.command(name).description(does) as Command;
  if (run) withoutAction.set(group, run);
  return group;
}

/** Adds the options of a command that uses a service's public API and locates that service itself. */
export function withService(command: AnyCommand) {
  return standsAlone(command as Command)
    .option("--url <origin>", "the service, with its key in MINTYARD_KEY; default: the one that runs here")
    .option("--json", "one JSON object a line");
}

/** Makes a command pass its arguments on unread, including `--help`. */
export function handOn(command: AnyCommand, run: (args: readonly string[]) => Promise<number>): void {
  standsAlone(command)
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .argument("[arguments...]")
    .action(async () => await exitWith(run(command.args)));
}

/** Makes a command's result the exit code of the process. */
export async function exitWith(work: Promise<number>): Promise<void> {
  process.exitCode = await work;
}

/** Parses an address, for `argument` and `option`. */
export function parseAddress(text: string): string {
  if (/^0x[0-9a-f]{40}$/i.test(text)) return text;
  throw new InvalidArgumentError("An address is 0x and 40 hex digits.");
}

/** Parses a whole number, for `argument` and `option`. */
export function parseWhole(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It is a whole number.");
}

/** The words that call a command, without the program's name. */
export function pathOf(command: AnyCommand): string {
  if (!command.parent) return "";
  return [pathOf(command.parent), command.name()].filter(Boolean).join(" ");
}

const childrenOf = (command: AnyCommand) => command.commands as readonly AnyCommand[];

/** The command that the leading words call; null when there is none. */
export function findCommand(program: AnyCommand, words: readonly string[]): AnyCommand | null {
  let found = program;
  for (const word of words) {
    if (childrenOf(found).length === 0) break;
    const next = childrenOf(found).find((one) => one.name() === word);
    if (!next) return null;
    found = next;
  }
  return found === program ? null : found;
}

/**
 * Runs the command that the arguments call and sets the exit code of the process. For an unknown, missing or
 * superfluous argument, prints an error and the command's help on stderr; the code is then 2, and nothing has been
 * done.
 *
 * @param before is called once the arguments are valid, before the command runs.
 */
export async function runProgram(
  program: AnyCommand,
  argv: readonly string[],
  before: (command: AnyCommand) => void,
): Promise<void> {
  let reached = program;
  const prepare = (command: AnyCommand): void => {
    deferRequired(command);
    command
      .exitOverride()
      .showHelpAfterError(command === program ? "`mintyard help` says what each command does" : true)
      .configureOutput({
        outputError: (text, write) => write(`mintyard ${pathOf(command) || argv[0]}: ${text.replace(/^error: /, "")}`),
      })
      .hook("preSubcommand", (_, next) => {
        reached = next;
      });
    const children = childrenOf(command);
    if (children.length > 0 && command !== program) chooseAction(command);
    for (const child of children) prepare(child);
  };
  prepare(program);
  program.hook("preAction", (_, command) => {
    checkRequired(command);
    before(command);
  });
  try {
    await program.parseAsync(argv, { from: "user" });
  } catch (error) {
    process.exitCode = await report(error, reached);
  }
}

/** @returns the exit code. */
async function report(error: unknown, command: AnyCommand): Promise<number> {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof UsageError) {
    try {
      command.error(`error: ${error.message}`);
    } catch {
      return 2;
    }
  }
  if (error instanceof CommandError) {
    process.stderr.write(`mintyard ${pathOf(command)}: ${error.message}\n`);
    return 1;
  }
  const { describeFailure } = await import("../src/config/config.ts");
  process.stderr.write(`mintyard ${pathOf(command)}: ${describeFailure(error)}\n`);
  return 1;
}

/** Handles words after a group that name none of its actions. */
function chooseAction(group: AnyCommand): void {
  const path = pathOf(group);
  const run = withoutAction.get(group);
  group
    .allowExcessArguments()
    .allowUnknownOption(!run)
    .action(async () => {
      const word = group.args[0];
      if (run && word === undefined) return await exitWith(run());
      const fault = word === undefined || word.startsWith("-") ? "an action is missing" : `there is no ${path} ${word}`;
      const actions = childrenOf(group).map((action) => action.name());
      group.error(`error: ${fault}; ${path} takes ${actions.join(", ")}`);
    });
}

/** Mandatory options of commands. */
const required = new WeakSet<Option>();

/**
 * Moves the check for missing options out of commander, which makes it before the check for unknown options: a misspelt
 * option would be reported as a missing one.
 */
function deferRequired(command: AnyCommand): void {
  for (const option of command.options.filter(({ mandatory }) => mandatory)) {
    required.add(option);
    option.makeOptionMandatory(false);
  }
}

function checkRequired(command: AnyCommand): void {
  const missing = command.options.filter(
    (option) => required.has(option) && command.getOptionValue(option.attributeName()) === undefined,
  );
  if (missing.length === 0) return;
  const flags = missing.map(({ flags }) => flags);
  command.error(`error: ${flags.join(" and ")} ${flags.length === 1 ? "is" : "are"} missing`);
}

/** Adds `help`, which shows every command with its arguments, or the help of one command. */
export function addHelp(program: AnyCommand): void {
  program
    .configureHelp({
      helpWidth: 120,
      commandUsage: (command) => `mintyard ${usageOf(command)}`,
      visibleCommands: (command) => [...listed(command)],
      subcommandTerm: usageOf,
    })
    .helpCommand(false);
  standsAlone(program.command("help"))
    .description("help for one command, or this list")
    .argument("[command...]", "the command")
    .action((words) => {
      const command = words.length === 0 ? program : findCommand(program, words);
      if (!command) program.error(`error: unknown command '${words.join(" ")}'`);
      else command.outputHelp();
    });
}

function usageOf(command: AnyCommand): string {
  if (command.parent === null) return "<command>";
  const needed = command.options.flatMap((option) => (required.has(option) ? [option.flags] : []));
  const usage = command
    .usage()
    .replace(/\[command\]|\[arguments\.\.\.\]/, "")
    .trim();
  const action = childrenOf(command).length > 0 && !withoutAction.has(command) ? "<action>" : "";
  const optional = command.options.some((option) => !required.has(option));
  const rest = optional ? usage : usage.replace(/^\[options\] ?/, "");
  return [pathOf(command), action, ...needed, rest].filter(Boolean).join(" ");
}

/** Groups are listed by their actions, but the developers' commands only by their group. */
function listed(command: AnyCommand): readonly AnyCommand[] {
  return childrenOf(command).flatMap((child) => {
    if (childrenOf(child).length === 0 || child.name() === "dev") return [child];
    return withoutAction.has(child) ? [child, ...listed(child)] : listed(child);
  });
}
