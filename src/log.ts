import { type Logger, pino } from "pino";

export type { Logger } from "pino";

/** A process's logger: JSON lines on stderr, so that stdout stays for what a command prints. */
export function createLogger(name: string, level: string): Logger {
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
    pino.destination({ dest: 2, sync: false }),
  );
}
