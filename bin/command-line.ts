import { type ParseArgsConfig, parseArgs } from "node:util";

/** An argument that is unknown, missing or malformed. The usage of the command is printed below the message. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

interface Option {
  type: "string" | "boolean";
  /** What stands for the value in the usage: `N` of `--name N`. */
  shown?: string;
  required?: boolean;
  default?: string;
}
type Options = Record<string, Option>;
type Value<O extends Option> = O["type"] extends "boolean"
  ? boolean
  : O extends { required: true } | { default: string }
    ? string
    : string | undefined;
type Values<S extends Options> = { [K in keyof S]: Value<S[K]> };
type Words<P extends readonly string[]> = {
  [K in keyof P]: P[K] extends `[${string}` ? string | undefined : string;
};

export interface Command {
  /** What follows `mintyard`: one word or two. */
  name: string;
  /** The arguments as the usage shows them; what may be left out is in brackets. */
  takes: string;
  does: string;
  /** Brings its own parts, so it is not pointed at the stack that runs in MINTYARD_DATA_DIR. */
  alone: boolean;
  /** Reads its own arguments, `--help` included. */
  raw: boolean;
  /** @returns the work, which has not begun. @throws UsageError before anything has been done. */
  parse(args: readonly string[]): () => Promise<number>;
}

interface Spec<P extends readonly string[], S extends Options> {
  does: string;
  /** Positional arguments in their order, optional ones in brackets and last. */
  words?: P;
  options?: S;
  alone?: boolean;
  run(words: Words<P>, values: Values<S>): Promise<number>;
}

/** A command whose arguments are checked before it runs: nothing unknown, nothing missing, nothing superfluous. */
export function command<const P extends readonly string[] = [], const S extends Options = Record<string, never>>(
  name: string,
  { does, words = [] as unknown as P, options = {} as S, alone = false, run }: Spec<P, S>,
): Command {
  const shownOptions = Object.entries(options).map(([option, { shown, required }]) => {
    const text = shown ? `--${option} ${shown}` : `--${option}`;
    return required ? text : `[${text}]`;
  });
  return {
    name,
    takes: [...words, ...shownOptions].join(" "),
    does,
    alone,
    raw: false,
    parse(args) {
      const { values, positionals } = parseStrictly(args, options);
      const faults = [...missing(words, positionals, options, values), ...superfluous(words, positionals)];
      if (faults.length > 0) throw new UsageError(faults.join("; "));
      return () => run(positionals as unknown as Words<P>, values as Values<S>);
    },
  };
}

/** A command that reads its own arguments and needs no running service. */
export function rawCommand(
  name: string,
  { takes, does, run }: { takes: string; does: string; run(args: readonly string[]): Promise<number> },
): Command {
  return { name, takes, does, alone: true, raw: true, parse: (args) => () => run(args) };
}

function parseStrictly(args: readonly string[], options: Options) {
  // The parser itself stops at members that it does not know.
  const known = Object.fromEntries(
    Object.entries(options).map(([name, { type, default: fallback }]) => [
      name,
      type === "boolean"
        ? { type, default: false }
        : { type, ...(fallback === undefined ? {} : { default: fallback }) },
    ]),
  ) satisfies ParseArgsConfig["options"];
  try {
    return parseArgs({ args, options: known, allowPositionals: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // Its second sentence explains how to write a positional argument that begins with a dash.
    throw new UsageError(error.message.split(". ")[0]);
  }
}

function missing(words: readonly string[], given: readonly string[], options: Options, values: object): string[] {
  const absentWords = words.slice(given.length).filter((word) => !word.startsWith("["));
  const absentOptions = Object.entries(options)
    .filter(([name, { required }]) => required && !(name in values))
    .map(([name, { shown }]) => `--${name} ${shown}`);
  const absent = [...absentWords, ...absentOptions];
  if (absent.length === 0) return [];
  return [`${absent.join(" and ")} ${absent.length === 1 ? "is" : "are"} missing`];
}

function superfluous(words: readonly string[], given: readonly string[]): string[] {
  return given.slice(words.length).map((word) => `unexpected argument ${JSON.stringify(word)}`);
}

/**
 * The command that the first words name, and what is left for it.
 *
 * @throws UsageError for a name that does not exist; it lists those that do.
 */
export function findCommand(commands: readonly Command[], argv: readonly string[]): [Command, readonly string[]] {
  const [first = "", second] = argv;
  const pair = commands.find(({ name }) => name === `${first} ${second}`);
  if (pair) return [pair, argv.slice(2)];
  const single = commands.find(({ name }) => name === first);
  const actions = commands.flatMap(({ name }) => (name.startsWith(`${first} `) ? [name.slice(first.length + 1)] : []));
  const asksForAction = actions.length > 0 && (!single || (second !== undefined && !second.startsWith("-")));
  if (single && !asksForAction) return [single, argv.slice(1)];
  if (actions.length === 0) {
    const names = [...new Set(commands.map(({ name }) => name.split(" ")[0]))];
    throw new UsageError(`there is no command ${JSON.stringify(first)}; there are ${names.join(", ")}`);
  }
  const fault =
    second === undefined || second.startsWith("-") ? "an action is missing" : `there is no ${first} ${second}`;
  throw new UsageError(`${fault}; ${first} takes ${actions.join(", ")}`);
}

/** One line for each command, with what stands in front of its name. */
export function usageLines(commands: readonly Command[], before = ""): string {
  const left = commands.map(({ name, takes }) => `${before}${name} ${takes}`.trimEnd());
  const width = Math.max(...left.map((text) => text.length));
  return commands.map(({ does }, index) => `  ${left[index]?.padEnd(width)}  ${does}\n`).join("");
}
