import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import type { NodeUrls } from "./stage.ts";

export interface PlayOrder {
  /** A name in defect-plays.ts. */
  play: string;
  /** Whether the tree has the play's defect: then the factory may have it too. */
  defective: boolean;
  nodes: NodeUrls;
  /** Migrated and empty. */
  databaseUrl: string;
  /** How long the relay has to end everything; see `Stage.finish`. */
  timeoutMs: number;
}

export type PlayAnswer = { findings: string[] } | { failure: string };

/** A process that performs plays with the code of one tree. It loads the code at once and waits for its first order. */
export class PlayProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #output = "";

  /** @param cache folder for compiled code, so that only the first process of a tree compiles it. */
  constructor(tree: string, cache: string) {
    this.#child = spawn(process.execPath, [join(tree, "test/chaos/perform-plays.ts")], {
      env: {
        PATH: process.env["PATH"] ?? "",
        NODE_COMPILE_CACHE: cache,
        TEST_LOG_LEVEL: process.env["TEST_LOG_LEVEL"] ?? "silent",
      },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on("data", (piece: Buffer) => {
        this.#output += piece.toString();
      });
    this.#ended = new Promise((done) => this.#child.once("exit", done));
  }

  /**
   * @returns what the judge found.
   * @throws Error when the play could not be performed to its end, which is no finding.
   */
  async perform(order: PlayOrder): Promise<string[]> {
    const answer = await new Promise<PlayAnswer>((done) => {
      this.#child.once("message", (message) => done(message as PlayAnswer));
      void this.#ended.then(() => done({ failure: `the process of the play ended: ${this.#output}` }));
      if (this.#child.connected) this.#child.send(order);
    });
    if ("failure" in answer) throw new Error(answer.failure);
    if (process.env["TEST_LOG_LEVEL"]) process.stdout.write(this.#output);
    return answer.findings;
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#ended;
  }
}
