/** Receives a launch's progress, for a terminal, a log or a program. */
export interface Reporter {
  /** One finished step, for people; `fields` is for programs. */
  step(event: string, text: string, fields?: Record<string, unknown>): void;
  progress(progress: Progress): void;
  warn(text: string): void;
  /** Ends a progress line. */
  end(): void;
}

interface Progress {
  files: number;
  allFiles: number;
  bytes: number;
  allBytes: number;
  /** Bytes sent by this run, for the rate. */
  sentBytes: number;
  elapsedMs: number;
}

/** Interval between two progress reports in a log. */
const quietMs = 10_000;

export function createReporter(json: boolean): Reporter {
  if (json) return new JsonReporter();
  return process.stderr.isTTY ? new TerminalReporter() : new LineReporter();
}

/** One JSON object per line on stdout. */
class JsonReporter implements Reporter {
  #next = 0;

  step(event: string, text: string, fields: Record<string, unknown> = {}): void {
    this.#print({ event, text, ...fields });
  }

  progress(progress: Progress): void {
    if (performance.now() < this.#next && progress.files < progress.allFiles) return;
    this.#next = performance.now() + 1_000;
    this.#print({ event: "progress", ...progress, ...ratesOf(progress) });
  }

  warn(text: string): void {
    this.#print({ event: "warning", text });
  }

  end(): void {}

  #print(event: object): void {
    process.stdout.write(`${JSON.stringify(event)}\n`);
  }
}

class LineReporter implements Reporter {
  #next = performance.now() + quietMs;

  step(_event: string, text: string): void {
    process.stdout.write(`${text}\n`);
  }

  progress(progress: Progress): void {
    if (performance.now() < this.#next) return;
    this.#next = performance.now() + quietMs;
    process.stdout.write(`${describeProgress(progress)}\n`);
  }

  warn(text: string): void {
    process.stderr.write(`warning: ${text}\n`);
  }

  end(): void {}
}

/** One line that is redrawn. */
class TerminalReporter implements Reporter {
  #open = false;
  #next = 0;

  step(_event: string, text: string): void {
    this.end();
    process.stdout.write(`${text}\n`);
  }

  progress(progress: Progress): void {
    if (performance.now() < this.#next && progress.files < progress.allFiles) return;
    this.#next = performance.now() + 100;
    const share = progress.allBytes === 0 ? 1 : progress.bytes / progress.allBytes;
    const bar = "█".repeat(Math.round(share * 24)).padEnd(24, "░");
    process.stderr.write(`\r\x1b[2K${bar} ${describeProgress(progress)}`);
    this.#open = true;
  }

  warn(text: string): void {
    this.end();
    process.stderr.write(`warning: ${text}\n`);
  }

  end(): void {
    if (this.#open) process.stderr.write("\n");
    this.#open = false;
  }
}

function ratesOf({ bytes, allBytes, sentBytes, elapsedMs }: Progress) {
  const bytesPerSecond = elapsedMs > 0 ? Math.round((sentBytes / elapsedMs) * 1_000) : 0;
  const secondsLeft = bytesPerSecond > 0 ? Math.ceil((allBytes - bytes) / bytesPerSecond) : null;
  return { bytesPerSecond, secondsLeft };
}

function describeProgress(progress: Progress): string {
  const { files, allFiles, bytes, allBytes } = progress;
  const { bytesPerSecond, secondsLeft } = ratesOf(progress);
  const left = secondsLeft === null ? "" : `, ${secondsLeft} s left`;
  return `${files} of ${allFiles} files, ${inMegabytes(bytes)} of ${inMegabytes(allBytes)} MB, ${inMegabytes(bytesPerSecond)} MB/s${left}`;
}

export function inMegabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}
