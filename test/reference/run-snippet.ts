import { type ChildProcess, spawn } from "node:child_process";
import type { Values } from "./world.ts";

/** Where and as whom a snippet runs. */
export interface Surroundings {
  folder: string;
  values: Values;
  /** Called again and again while a stream is silent, so that something happens. */
  stir?: (() => Promise<unknown>) | undefined;
}

/** Runs a command as a visitor's shell does, until it ends or, where it is a stream, until `done` likes what it said. @returns what it said. */
export async function runProgram(
  program: string,
  args: readonly string[],
  { folder, values, stir }: Surroundings,
  done: (said: string) => boolean,
): Promise<string> {
  const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], MINTYARD_KEY: values.key };
  const child = spawn(program, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  let [said, complaint, isOver] = ["", "", false];
  const over = new Promise<number | null>((end) => child.once("close", end)).then((code) => {
    isOver = true;
    return code;
  });
  child.stderr.on("data", (piece: Buffer) => {
    complaint += String(piece);
  });
  const seen = new Promise<void>((end) => {
    child.stdout.on("data", (piece: Buffer) => {
      said += String(piece);
      if (done(said)) end();
    });
  });
  const stirring = (async () => {
    while (stir && !isOver && !done(said)) {
      await stir();
      await Promise.race([seen, over, new Promise((end) => setTimeout(end, 500))]);
    }
  })();
  const code = await Promise.race([over, seen.then(() => 0)]);
  child.kill("SIGKILL");
  await stirring;
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${complaint}${said}`);
  return said;
}

/** Runs programs of the reader's folder that end by themselves, all in one process. */
export class ProgramHost {
  readonly #child: ChildProcess;
  #complaint = "";

  /** @param preload of the folder: it answers with what a program printed. */
  constructor(folder: string, preload: string) {
    const env = { PATH: process.env["PATH"], HOME: process.env["HOME"] };
    const stdio = ["ignore", "inherit", "pipe", "ipc"] as const;
    this.#child = spawn(process.execPath, [preload], { cwd: folder, env, stdio: [...stdio] });
    this.#child.stderr?.on("data", (piece: Buffer) => {
      this.#complaint += String(piece);
    });
  }

  /** @returns what the program printed. @throws Error for what it threw. */
  async run(file: string, key: string): Promise<string> {
    return await new Promise((done, failed) => {
      const ended = (code: number | null) => failed(new Error(`${file} ended with ${code}: ${this.#complaint}`));
      this.#child.once("exit", ended);
      this.#child.once("message", ({ said, fault }: { said?: string; fault?: string }) => {
        this.#child.off("exit", ended);
        if (said === undefined) failed(new Error(`${file}: ${fault}`));
        else done(said);
      });
      this.#child.send({ file, key });
    });
  }

  /** Tells the process that there is no other program. @returns its code, once it has ended by itself. */
  async leave(): Promise<number | null> {
    const ended = new Promise<number | null>((done) => this.#child.once("exit", done));
    this.#child.disconnect();
    return await ended;
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}

/** What stands behind `data:` in the first event of a stream that has such a line. */
export function firstEvent(text: string): unknown {
  const [, data] = /^data: (.+)\n\n/m.exec(text) ?? [];
  return data === undefined ? undefined : JSON.parse(data);
}
