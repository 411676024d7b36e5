import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiServer } from "../setup/api-server.ts";
import { patient } from "../setup/wait.ts";

let api: ApiServer;
beforeAll(async () => {
  api = await ApiServer.start();
});
afterAll(() => api?.close());

const reasons = async () => {
  const { status, body } = await api.send("GET", "/readyz", null);
  return [status, body.reasons];
};

test("a right that the API lacks is not called a database that is away", async () => {
  expect((await reasons())[0]).toBe(200);
  await api.database.pool.query("REVOKE USAGE ON SCHEMA nft FROM mintyard_api");
  await expect.poll(reasons, patient).toEqual([503, ["database_refused"]]);
  await api.database.pool.query("GRANT USAGE ON SCHEMA nft TO mintyard_api");
  await expect.poll(async () => (await reasons())[0], patient).toBe(200);
});
