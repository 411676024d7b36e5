import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, inject } from "vitest";
import { processorSeconds } from "../../bin/tests/processor-time.ts";
import type { ReadyInfo } from "../../src/embedded/ready-info.ts";
import { noteProcessorTime } from "./note-processor-time.ts";
import { type RunningStack, startStackProcess } from "./stack.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /**
     * GET answers with a `StackInfo` of the run's shared stack, and starts it for the first one that asks; POST restarts it; DELETE,
     * with the path of the test file in its body, ends it unless it is wanted again; GET of `/lines` answers with the last lines of
     * its processes.
     */
    sharedStackUrl: string;
  }
}

/** To start it takes as much of the processor as ten minutes of rest. */
const unusedMs = 900_000;
/** Others may have it for as long as their tests take. */
const leaseWithinMs = 3_600_000;

/**
 * The side of the run: a stack that starts when the first test file wants it, and ends when no other will.
 *
 * @param listSharing the paths of all test files of the run that lease it.
 */
export async function offerStack(
  listSharing: () => readonly string[],
): Promise<{ url: string; close(): Promise<void> }> {
  let starting: Promise<RunningStack> | undefined;
  let ending = Promise.resolve();
  let unused: NodeJS.Timeout | undefined;
  const done = new Set<string>();
  const remove = async (started: typeof starting) => {
    const stack = await started?.catch(() => undefined);
    if (!stack) return;
    noteProcessorTime("the shared stack", processorSeconds(stack.pid));
    await stack.remove();
  };
  const end = () => {
    const started = starting;
    starting = undefined;
    ending = ending.then(() => remove(started));
  };
  const server = createServer((request, response) => {
    if (request.url === "/lines")
      return void (starting ?? Promise.reject(new Error("it was not started"))).then(
        (stack) => response.end(stack.lastLines()),
        (error: Error) => response.end(error.message),
      );
    clearTimeout(unused);
    if (request.method === "DELETE")
      return void text(request).then((file) => {
        done.add(file);
        if (listSharing().some((other) => !done.has(other))) unused = setTimeout(end, unusedMs);
        else end();
        response.end();
      });
    starting = request.method === "POST" && starting ? starting.then(restart) : (starting ?? startStackProcess());
    starting.then(
      ({ ready, dir }) => response.end(JSON.stringify({ ready, dir })),
      (error: Error) => response.writeHead(500).end(error.message),
    );
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      clearTimeout(unused);
      server.closeAllConnections();
      server.close();
      end();
      await ending;
    },
  };
}

async function restart(stack: RunningStack): Promise<RunningStack> {
  noteProcessorTime("the shared stack", processorSeconds(stack.pid));
  const { code } = await stack.terminate();
  if (code !== 0) throw new Error(`the stack ended with code ${code}`);
  return await startStackProcess({
    dir: stack.dir,
    env: { PORT: new URL(stack.ready.rest).port, MINTYARD_API_KEY: stack.ready.apiKey },
  });
}

interface StackInfo {
  ready: ReadyInfo;
  /** Its data folder. */
  dir: string;
}

export interface LeasedStack extends StackInfo {
  /** Ends the stack by SIGTERM, which has to give code 0, and starts it on the same folder. */
  restart(): Promise<void>;
}

/**
 * The stack that test files share, one file at a time: some of them count rows and nonces. It holds what earlier files
 * left, so each works with wallets and collections of its own.
 *
 * @returns for the tests of the file or `describe` that calls it; the properties are there from its `beforeAll` on. When a
 *   test fails, the stack's last lines are printed.
 */
export function leaseStack(): LeasedStack {
  let lock: pg.Client | undefined;
  const stack = {
    restart: async () => {
      Object.assign(stack, await ask("POST"));
    },
  } as LeasedStack;
  beforeAll(async () => {
    // The lock ends with its session, so also with a worker that dies.
    lock = new pg.Client({ connectionString: inject("postgresUrl") });
    await lock.connect();
    await lock.query("SELECT pg_advisory_lock(hashtext('shared stack'))");
    Object.assign(stack, await ask("GET"));
  }, leaseWithinMs);
  beforeEach(({ onTestFailed }) => onTestFailed(showLines));
  afterAll(async () => {
    await fetch(inject("sharedStackUrl"), { method: "DELETE", body: expect.getState().testPath ?? "" });
    await lock?.end();
  });
  return stack;
}

/** Below what failed: what the stack said last. */
async function showLines(): Promise<void> {
  const lines = await fetch(`${inject("sharedStackUrl")}/lines`).then((answer) => answer.text(), String);
  console.error(`the shared stack's last lines:
${lines}`);
}

async function ask(method: "GET" | "POST"): Promise<StackInfo> {
  const answer = await fetch(inject("sharedStackUrl"), { method });
  if (!answer.ok) throw new Error(`the shared stack did not start: ${await answer.text()}`);
  return (await answer.json()) as StackInfo;
}
