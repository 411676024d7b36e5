import { createInterface } from "node:readline";
import { isCancel, password, text } from "@clack/prompts";
import { CommandError } from "../command-error.ts";

/** The settings of the file, by name. */
export type Settings = Record<string, string>;

/** One question of `mintyard setup`. */
export interface Question {
  /** One sentence; a final `(…)` says what an empty answer means. */
  asks: string;
  /** Whether the answer is hidden while it is typed. */
  secret?: boolean;
  /** Throws a `Refused` for an invalid answer, which is then asked for again. An empty answer is passed as "". */
  check: (answer: string, so: Settings) => Promise<Checked> | Checked;
  /** The condition for asking it. */
  when?: (so: Settings) => boolean;
}

/** The settings from an answer, and observations made while checking it. */
export interface Checked {
  set: Settings;
  seen?: readonly string[];
}

/** An invalid answer. The message names the setting and says what to change. */
export class Refused extends Error {
  override readonly name = "Refused";
}

/**
 * Asks each question until its answer passes the check. Answers come from the terminal, or one per line from a pipe.
 *
 * @throws CommandError when the input ends before the last answer; nothing has been written then.
 */
export async function askAll(questions: readonly Question[]): Promise<Settings> {
  const answers = process.stdin.isTTY ? fromTerminal() : fromPipe();
  const so: Settings = {};
  let number = 0;
  for (const question of questions) {
    if (question.when?.(so) === false) continue;
    number += 1;
    let checked: Checked | null = null;
    while (checked === null) {
      const answer = await answers.next(`${number}. ${question.asks}`, question.secret ?? false);
      if (answer === null)
        throw new CommandError(`the answers ended at question ${number}; the settings were not written: start again`);
      checked = await tryAnswer(() => question.check(answer.trim(), so));
    }
    Object.assign(so, checked.set);
    for (const line of checked.seen ?? []) say(`  ${line}`);
  }
  answers.close();
  return so;
}

const say = (text: string) => process.stdout.write(`${text}\n`);

/** The source of answers; null: there are no more. */
interface Answers {
  next(asks: string, secret: boolean): Promise<string | null>;
  close(): void;
}

function fromTerminal(): Answers {
  return {
    next: async (message, secret) => {
      const answer = await (secret ? password({ message }) : text({ message }));
      return isCancel(answer) ? null : (answer ?? "");
    },
    close: () => undefined,
  };
}

function fromPipe(): Answers {
  const lines = createInterface({ input: process.stdin });
  const answers = lines[Symbol.asyncIterator]();
  return {
    next: async (asks, secret) => {
      say(`\n${asks}`);
      const { value, done } = await answers.next();
      if (done === true) return null;
      say(`> ${secret ? "…" : value}`);
      return value;
    },
    close: () => lines.close(),
  };
}

async function tryAnswer(check: () => Promise<Checked> | Checked): Promise<Checked | null> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    say(`  no: ${error.message}`);
    return null;
  }
}
