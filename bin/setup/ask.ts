import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { CommandError } from "../command-error.ts";

/** What is set in the file, by the name of the setting. */
export type Settings = Record<string, string>;

/** One question of `mintyard setup`. */
export interface Question {
  /** One sentence; `(…)` at its end is what an empty answer means. */
  asks: string;
  /** The answer is not shown while it is typed. */
  secret?: boolean;
  /** Answers that would not do are asked for again: `check` throws a `Refused`. An empty answer is given as "". */
  check: (answer: string, so: Settings) => Promise<Checked> | Checked;
  /** Asked only then. */
  when?: (so: Settings) => boolean;
}

/** What an answer sets, and what was seen while it was checked. */
export interface Checked {
  set: Settings;
  seen?: readonly string[];
}

/** An answer that would not do. The message names the setting and says what to change. */
export class Refused extends Error {
  override readonly name = "Refused";
}

/**
 * Asks each question until its answer passes its check. Answers come from the terminal, or a line each from a pipe.
 *
 * @throws CommandError when the input ends before the last answer; nothing was written then.
 */
export async function askAll(questions: readonly Question[]): Promise<Settings> {
  const isTerminal = process.stdin.isTTY === true;
  let isHidden = false;
  const output = new Writable({
    write: (chunk, _encoding, done) => (isHidden ? done() : void process.stdout.write(chunk, () => done())),
  });
  const lines = createInterface({ input: process.stdin, output, terminal: isTerminal });
  const answers = lines[Symbol.asyncIterator]();
  const so: Settings = {};
  try {
    let number = 0;
    for (const { asks, check, when, secret = false } of questions) {
      if (when && !when(so)) continue;
      number += 1;
      for (;;) {
        process.stdout.write(`\n${number}. ${asks}\n> `);
        isHidden = secret && isTerminal;
        const { value, done } = await answers.next();
        isHidden = false;
        if (done === true)
          throw new CommandError(`the answers ended at question ${number}; nothing was written: start again`);
        if (!isTerminal || secret) process.stdout.write(secret ? "…\n" : `${value}\n`);
        const checked = await tryAnswer(() => check(value.trim(), so));
        if (checked === null) continue;
        Object.assign(so, checked.set);
        for (const line of checked.seen ?? []) process.stdout.write(`  ${line}\n`);
        break;
      }
    }
    return so;
  } finally {
    lines.close();
  }
}

async function tryAnswer(check: () => Promise<Checked> | Checked): Promise<Checked | null> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    process.stdout.write(`  no: ${error.message}\n`);
    return null;
  }
}
