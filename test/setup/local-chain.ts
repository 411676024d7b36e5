import { fork } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "../../src/free-port.ts";

export interface TestChain {
  url: string;
  id: number;
  stop(): Promise<void>;
}

/** A local chain as `npm start` runs it, in a process of its own; once per test file. */
export async function startTestChain(id = 31337): Promise<TestChain> {
  const dir = await mkdtemp(join(tmpdir(), "mintyard-chain-"));
  const [port = 0] = await freePorts(1);
  const script = join(import.meta.dirname, "../../bin/local-chain.ts");
  const child = fork(script, ["--chain-id", String(id), "--port", String(port), "--dir", dir], {
    execArgv: [],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let errors = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    errors = (errors + chunk.toString("utf8")).slice(-4_000);
  });
  await new Promise<void>((ready, failed) => {
    child.once("message", () => ready());
    child.once("exit", (code) => failed(new Error(`the chain ended with code ${code}: ${errors}`)));
  });
  return {
    url: `http://127.0.0.1:${port}`,
    id,
    stop: async () => {
      const ended = new Promise((done) => child.once("exit", done));
      child.kill("SIGTERM");
      await ended;
      await rm(dir, { recursive: true, force: true });
    },
  };
}
