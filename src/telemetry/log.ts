import { type Logger, pino } from "pino";
import sonicBoom from "sonic-boom";

export type { Logger } from "pino";

/** Keys of ours, UUIDs (a key may be one), 32-byte hex beside a word for a secret, tokens, and logins in URLs. */
const secretShapes: readonly [RegExp, string][] = [
  [/mty_(?:live|test)_[0-9A-Za-z]{6,}/g, "[key]"],
  [/(key|secret|private|password|pepper|jwt|token)(["']?\s*[:=]\s*["']?)(0x)?[0-9a-f]{64}/gi, "$1$2[redacted]"],
  [
    /\b((?:authorization|x-api-key|jwt|password|secret|pepper)["']?\s*[:=]\s*["']?)(?:Bearer\s+)?[^\s"',}]+/gi,
    "$1[redacted]",
  ],
  // From the colon on: looking for the scheme in front would cost the square of a long text's length.
  [/(:\/\/)[^\s/@"']+@/g, "$1[login]@"],
];
/** Text without JSON web tokens. By hand: a pattern reads a long run anew from each beginning that it might have. */
function withoutTokens(text: string): string {
  const endOf = (from: number) => {
    run.lastIndex = from;
    run.test(text);
    return run.lastIndex;
  };
  let clean = "";
  let kept = 0;
  for (let at = text.indexOf("eyJ"); at >= 0; at = text.indexOf("eyJ", at)) {
    const header = endOf(at);
    const payload = text[header] === "." && header - at >= 11 ? endOf(header + 1) : header;
    if (text[payload] !== "." || payload - header < 9) {
      // Another beginning in the same run would end like this one.
      at = header;
      continue;
    }
    clean += `${text.slice(kept, at)}[jwt]`;
    at = kept = endOf(payload + 1);
  }
  return clean + text.slice(kept);
}
const run = /[\w-]*/y;

/** RPC providers put the key of the account into the path or query. */
const urlWithPath = /\b((?:https?|wss?):\/\/[^\s/"'\\?]+)(\/[^\s"'\\]*|\?[^\s"'\\]*)/gi;

/**
 * A log line without what must not be kept: by shape, and by value for what this process was configured
 * with. Control characters are escaped, so that no text from outside makes a line of its own.
 */
export function redact(line: string, secrets: readonly string[]): string {
  let text = line;
  for (const secret of secrets) text = text.replaceAll(secret, "[redacted]");
  for (const [shape, instead] of secretShapes) text = text.replace(shape, instead);
  return withoutTokens(text).replace(
    urlWithPath,
    (_all, origin: string, rest: string) => `${origin}${rest.length > 24 ? "/[path]" : rest}`,
  );
}

let output: ReturnType<typeof openLogOutput> | undefined;

/**
 * A process's logger: JSON lines on stderr, so that stdout stays for what a command prints.
 *
 * @param secrets values that appear in no line, whatever they look like.
 */
export function createLogger(name: string, level: string, secrets: readonly string[] = []): Logger {
  const known = secrets.filter((secret) => secret.length >= 8);
  output ??= openLogOutput(2);
  const { write } = output;
  return pino(
    {
      name,
      level,
      base: { process: name },
      redact: {
        paths: ["*.authorization", "authorization", "*.apiKey", "*.key", "*.jwt", "*.privateKey"],
        censor: "[redacted]",
      },
    },
    { write: (line: string) => write(redact(line, known)) },
  );
}

/** What may wait for a reader that does not read, in characters; lines beyond it are lost. */
const maxWaiting = 8 * 1_048_576;
/** Of a tenth of a second each. */
const triesAtExit = 10;

/**
 * This process's standard error as a stream that nobody waits for: lines are written behind the caller's back and
 * what is left is written when the process exits. Whoever read it may be gone (a killed launcher, a closed terminal)
 * or not read any more: then lines are lost, and the process works, and ends, all the same. pino's own
 * stream (its `sonic-boom` 4) writes to a closed pipe for ever when the process exits.
 */
function openLogOutput(fd: number): { write(line: string): void } {
  let triesLeft = Number.POSITIVE_INFINITY;
  let gone = false;
  const stream = new sonicBoom.SonicBoom({
    fd,
    sync: false,
    maxLength: maxWaiting,
    retryEAGAIN: () => triesLeft-- > 0,
  });
  stream.on("error", () => {
    gone = true;
  });
  process.on("exit", () => {
    if (gone) return;
    triesLeft = triesAtExit;
    try {
      stream.flushSync();
    } catch {
      // Nobody reads it.
    }
  });
  return {
    write(line) {
      if (!gone) stream.write(line);
    },
  };
}
