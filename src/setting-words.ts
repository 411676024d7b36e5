/*
 * Settings that are words, for the configuration and the signer: an unknown word is refused and never taken for a known
 * one.
 */

type Env = Readonly<Record<string, string | undefined>>;

/** A wrong variable: its name, its value, and what is allowed. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/**
 * @param other what else the setting may be, as the error describes it; `read` returns null for anything else.
 * @returns `fallback` if the variable is unset or empty.
 * @throws ConfigError with the variable's name, its value and what it may be.
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

/** On or off, in either of two spellings. */
export function readSwitch(env: Env, name: string, fallback: boolean): boolean {
  const word = readWord(env, name, ["on", "off", "true", "false"], fallback ? "on" : "off");
  return word === "on" || word === "true";
}

export function readLogLevel(env: Env) {
  return readWord(env, "LOG_LEVEL", ["fatal", "error", "warn", "info", "debug", "trace", "silent"], "info");
}

/** As the operator wrote it, but cut short, so that it cannot be a secret pasted into the wrong line. */
function shown(text: string): string {
  return JSON.stringify(text.length > 16 ? `${text.slice(0, 12)}…` : text);
}

function listed(words: readonly string[]): string {
  return `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}
