import { afterAll, beforeAll, expect, test } from "vitest";
import { openPipelinedConnections } from "../../src/db/pipeline/pipelined-connections.ts";
import { connectionOptions } from "../../src/db/pool/pool.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { patient } from "../setup/wait.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.drop());

test("reads that are slow one after the other do not make their connection look lost", async () => {
  const reads = openPipelinedConnections(connectionOptions(database.url, "patient"), patient.timeout);
  const slow = Array.from({ length: 24 }, () => reads.first("SELECT pg_sleep(9)", []));
  const outcomes = await Promise.allSettled(slow);
  expect(outcomes.filter(({ status }) => status === "rejected")).toEqual([]);
  reads.close();
});
