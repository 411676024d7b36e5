import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { processorSeconds } from "../../bin/tests/processor-time.ts";
import { isSharing } from "./longest-first.ts";
import { noteProcessorTime } from "./note-processor-time.ts";
import { startPostgresOnFreePort } from "./postgres-on-free-port.ts";
import { offerStack } from "./shared-stack.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Admin connection string of the one PostgreSQL that all test files share. */
    postgresUrl: string;
  }
}

/**
 * Nothing in this server outlives the run. Tests that crash a PostgreSQL start one of their own, which keeps its promises.
 * Autovacuum starts a process for each database and minute, which costs more than what it finds in the small tables here.
 */
const forgetful = { fsync: "off", full_page_writes: "off", synchronous_commit: "off", autovacuum_naptime: "5min" };

/** One real PostgreSQL for the whole run, in which each test file makes databases of its own; and one stack for those that share it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dir = await mkdtemp(join(tmpdir(), "mintyard-test-"));
  const { postgres } = await startPostgresOnFreePort(dir, forgetful);
  project.provide("postgresUrl", postgres.url);
  const stack = await offerStack(() => project.vitest.state.getPaths().filter(isSharing));
  project.provide("sharedStackUrl", stack.url);
  return async () => {
    await stack.close();
    noteProcessorTime("PostgreSQL", processorSeconds(postgres.process.pid ?? 0));
    await postgres.stop();
    await rm(dir, { recursive: true, force: true });
  };
}
