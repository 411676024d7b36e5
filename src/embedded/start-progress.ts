/** Is called with each part of the stack, by name, as it starts. */
export interface PartListener {
  starting(part: string): void;
  ready(part: string): void;
}

/** How the caller of a start can follow and stop it. */
export interface StartOptions {
  parts?: PartListener;
  signal?: AbortSignal;
}

interface Part {
  name: string;
  readyMs: number | null;
}

interface Output {
  write(text: string): unknown;
  /** Whether it is a terminal, on which lines can be rewritten. */
  isTTY?: boolean;
}

const tickMs = 500;
const seconds = (ms: number) => (ms / 1_000).toFixed(1).padStart(5);

/**
 * Shows people how far a start has come: a line for each part when it is ready, with the seconds since this process
 * began. On a terminal, a list of all parts stays below the other lines until the last part is ready.
 */
export class StartProgress implements PartListener {
  readonly #output: Output;
  readonly #now: () => number;
  readonly #parts: Part[] = [];
  #timer: NodeJS.Timeout | null = null;
  #shown = 0;

  /** @param now milliseconds since the start began. */
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
    // A restart; the supervisor reports it.
    if (!entry) return;
    entry.readyMs = this.#now();
    if (this.#timer) this.#redraw();
    else this.#output.write(`${line(entry)}\n`);
  }

  /** Prints another line above the list. */
  line(text: string): void {
    this.#clear();
    this.#output.write(`${text}\n`);
    this.#redraw();
  }

  /** Leaves the list as it is; from now on only lines are printed. */
  end(): void {
    if (!this.#timer) return;
    clearInterval(this.#timer);
    this.#redraw();
    this.#timer = null;
    this.#shown = 0;
  }

  #clear(): void {
    // Moves up to the list's first line and clears everything below.
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
