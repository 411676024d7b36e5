import { type Logger, pino } from "pino";
import sonicBoom from "sonic-boom";

export type { Logger } from "pino";

/** Our own keys, UUIDs (which may be keys), 32-byte hex after a word for a secret, tokens, and logins in URLs. */
const secretShapes: readonly [RegExp, string][] = [
  [/mty_(?:live|test)_[0-9A-Za-z]{6,}/g, "[key]"],
  [/(key|secret|private|password|pepper|jwt|token)(["']?\s*[:=]\s*["']?)(0x)?[0-9a-f]{64}/gi, "$1$2[redacted]"],
  [
    /\b((?:authorization|x-api-key|jwt|password|secret|pepper)["']?\s*[:=]\s*["']?)(?:Bearer\s+)?[^\s"',}]+/gi,
    "$1[redacted]",
  ],
  // Starts at the colon: a search that includes the scheme would take quadratic time on a long text.
  [/(:\/\/)[^\s/@"']+@/g, "$1[login]@"],
];
/** Text without JSON web tokens. By hand: a pattern would rescan a long run from each possible start. */
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
      // Any other start within the same run would end the same way.
      at = header;
      continue;
    }
    clean += `${text.slice(kept, at)}[jwt]`;
    at = kept = endOf(payload + 1);
  }
  return clean + text.slice(kept);
}
const run = /[\w-]*/y;

/** RPC providers put the account's key into the path or query. */
const urlWithPath = /\b((?:https?|wss?):\/\/[^\s/"'\\?]+)(\/[^\s"'\\]*|\?[^\s"'\\]*)/gi;

/**
 * A log line without secrets: those recognised by their shape, and the values that this process was configured with.
 * Control characters are escaped, so that text from outside cannot start a line of its own.
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
 * A process's logger: JSON lines on stderr, because stdout is for a command's output.
 *
 * @param secrets values that must appear in no line, whatever they look like.
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

/** Characters that may wait for a reader that does not read; lines beyond that are lost. */
const maxWaiting = 8 * 1_048_576;
/** A tenth of a second each. */
const triesAtExit = 10;

/**
 * This process's standard error as a stream that nobody waits for: lines are written in the background, and the rest
 * when the process exits. Its reader may be gone (a killed launcher, a closed terminal) or may have stopped reading:
 * then lines are lost, but the process still works, and ends. pino's own stream (its `sonic-boom` 4) would write to a
 * closed pipe for ever when the process exits.
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
