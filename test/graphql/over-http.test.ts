import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serverAudits } from "graphql-http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createHttpServer } from "../../src/server/http-server.ts";
import { createIndexedDatabase, type TestDatabase } from "../setup/database.ts";
import { openReadApis } from "../setup/read-apis.ts";

let database: TestDatabase;
let server: Server;
beforeAll(async () => {
  ({ database } = await createIndexedDatabase([31337]));
  server = createHttpServer(openReadApis(database).services);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
});
afterAll(async () => {
  await new Promise((done) => server.close(done));
  await database.drop();
});

// The audits are those of the GraphQL-over-HTTP working group.
const audits = serverAudits({
  url: () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`,
});

test("the audits are all there: 60 in this version of graphql-http", () => {
  expect(audits).toHaveLength(60);
});

test.each(audits.map((audit) => [audit.id, audit.name, audit] as const))("%s %s", async (_id, _name, audit) => {
  const result = await audit.fn();
  const reason = "reason" in result ? result.reason : "";
  expect([result.status, reason]).toEqual(["ok", ""]);
});
