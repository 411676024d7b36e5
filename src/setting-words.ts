/*
 * Settings that are words. The configuration and the signer read them here: a word that is not known is refused, and never
 * taken for one that is.
 */

type Env = Readonly<Record<string, string | undefined>>;

/** A wrong variable: names it, says what came and what would do. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/**
 * @param other what the setting may be beside words, as the refusal names it; `read` gives null for what it is not.
 * @returns `fallback` where the variable is unset or empty.
 * @throws ConfigError naming the variable, what it is and what it may be.
 */
export function readWord<const Word extends string, Other = never>(
  env: Env,
  name: string,
  words: readonly Word[],
  fallback: NoInfer<Word>,
  other?: { called: string; read: (text: string) => Other | null },
): Word | Other {
  const text = env[name]?.trim();
  if (!text) return fallback;
  const value = words.find((candidate) => candidate === text) ?? other?.read(text) ?? null;
  if (value !== null) return value;
  const wanted = listed(other ? [...words, other.called] : words);
  throw new ConfigError(`${name}: ${shown(text)} is no such word; ${wanted} is wanted`);
}

/** On or off, in either of the two ways to say it. */
export function readSwitch(env: Env, name: string, fallback: boolean): boolean {
  const word = readWord(env, name, ["on", "off", "true", "false"], fallback ? "on" : "off");
  return word === "on" || word === "true";
}

/** How much of the log is written; every process has one. */
export function readLogLevel(env: Env) {
  return readWord(env, "LOG_LEVEL", ["fatal", "error", "warn", "info", "debug", "trace", "silent"], "info");
}

/** As the operator wrote it, but not long enough to hold a secret that was put into the wrong line. */
function shown(text: string): string {
  return JSON.stringify(text.length > 16 ? `${text.slice(0, 12)}…` : text);
}

function listed(words: readonly string[]): string {
  return `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}
