import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import type { NodeUrls } from "./relay-fixture.ts";

export interface ScenarioOrder {
  /** A name in defect-scenarios.ts. */
  scenario: string;
  /** Whether the tree has the scenario's defect: then the factory may have it too. */
  defective: boolean;
  nodes: NodeUrls;
  /** Migrated and empty. */
  databaseUrl: string;
  /** How long the relay has to end everything; see `RelayFixture.finish`. */
  timeoutMs: number;
}

export type ScenarioAnswer = { findings: string[] } | { failure: string };

/** A process that performs scenarios with the code of one tree. It loads the code at once and waits for its first order. */
export class ScenarioProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #output = "";

  /** @param cache folder for compiled code, so that only the first process of a tree compiles it. */
  constructor(tree: string, cache: string) {
    this.#child = spawn(process.execPath, [join(tree, "test/chaos/perform-scenarios.ts")], {
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
   * @throws Error when the scenario could not be performed to its end, which is no finding.
   */
  async perform(order: ScenarioOrder): Promise<string[]> {
    const answer = await new Promise<ScenarioAnswer>((done) => {
      this.#child.once("message", (message) => done(message as ScenarioAnswer));
      void this.#ended.then(() => done({ failure: `the process of the scenario ended: ${this.#output}` }));
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
