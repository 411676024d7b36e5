/** A part of the stack by its name, as it starts. */
export interface PartListener {
  starting(part: string): void;
  ready(part: string): void;
}

/** What whoever starts a stack may want to know and say while it starts. */
export interface StartOptions {
  /** Gets each part. */
  parts?: PartListener;
  /** Ends the start. */
  signal?: AbortSignal;
}

interface Part {
  name: string;
  readyMs: number | null;
}

interface Output {
  write(text: string): unknown;
  /** A terminal, on which lines can be written again. */
  isTTY?: boolean;
}

const tickMs = 500;
const seconds = (ms: number) => (ms / 1_000).toFixed(1).padStart(5);

/**
 * Shows people how far a start is: a line for each part when it is ready, with the seconds since this process began. On
 * a terminal a list of all parts stays below the other lines until the last one is ready.
 */
export class StartProgress implements PartListener {
  readonly #output: Output;
  readonly #now: () => number;
  readonly #parts: Part[] = [];
  #timer: NodeJS.Timeout | null = null;
  #shown = 0;

  /** @param now milliseconds since the start that is shown. */
  constructor(output: Output, now: () => number = () => performance.now()) {
    this.#output = output;
    this.#now = now;
    if (output.isTTY) this.#timer = setInterval(() => this.#redraw(), tickMs).unref();
  }

  starting(part: string): void {
    this.#parts.push({ name: part, readyMs: null });
    this.#redraw();
  }

  ready(part: string): void {
    const entry = this.#parts.find(({ name, readyMs }) => name === part && readyMs === null);
    // A restart, which is reported elsewhere.
    if (!entry) return;
    entry.readyMs = this.#now();
    if (this.#timer) this.#redraw();
    else this.#output.write(`${line(entry)}\n`);
  }

  /** A line of something else, above the list. */
  line(text: string): void {
    this.#clear();
    this.#output.write(`${text}\n`);
    this.#redraw();
  }

  /** Leaves the list as it is and takes the terminal for lines only. */
  end(): void {
    if (!this.#timer) return;
    clearInterval(this.#timer);
    this.#redraw();
    this.#timer = null;
    this.#shown = 0;
  }

  #clear(): void {
    // Up to the list's first line, then everything below goes.
    if (this.#shown > 0) this.#output.write(`\x1b[${this.#shown}A\x1b[J`);
    this.#shown = 0;
  }

  #redraw(): void {
    if (!this.#timer) return;
    this.#clear();
    for (const part of this.#parts) this.#output.write(`${line(part, this.#now())}\n`);
    this.#shown = this.#parts.length;
  }
}

function line({ name, readyMs }: Part, now = 0): string {
  const state = readyMs === null ? `${seconds(now)} s  starting` : `${seconds(readyMs)} s  ready`;
  return `mintyard: ${name.padEnd(20)} ${state}`;
}
