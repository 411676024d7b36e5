import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RelayHarness } from "../relay/harness.ts";
import type { HttpApi } from "./http-api.ts";
import { input, LaunchFixture } from "./launch-fixture.ts";
import { listenStates } from "./listen-states.ts";

let fixture: LaunchFixture;
let h: RelayHarness;
let api: HttpApi;
beforeAll(async () => {
  fixture = await LaunchFixture.start();
  ({ h, api } = fixture);
});
afterAll(() => fixture?.stop());

const listen = (id: string, enough?: (states: string[]) => boolean) => listenStates(api, "deployment", id, enough);

test("a subscription tells each state and ends with the last", async () => {
  const { data } = await api.graphql(
    "mutation ($input: DeployCollectionInput!) { deployCollection(input: $input) { deployment { id } } }",
    { input: input() },
  );
  const id = String(data["deployCollection"]?.["deployment"]?.["id"]);
  const listening = listen(id);
  await h.until(api.services, id, ["finalized"]);
  const states = await listening;
  expect(states.at(-1)).toBe("FINALIZED");
  expect(new Set(states).size).toBe(states.length);
  // One that has ended is told once.
  expect(await listen(id)).toEqual(["FINALIZED"]);
  expect(await listen(randomUUID())).toEqual(["not_found"]);
});

test("one that has not been signed can be cancelled; what stands cannot", async () => {
  await h.pauseFactory(true);
  const cancel = "mutation ($id: ID!) { cancelDeployment(id: $id) { deployment { state } userErrors { code field } } }";
  try {
    const sent = input({ idempotencyKey: randomUUID() });
    const { errors } = await api.graphql(
      "mutation ($input: DeployCollectionInput!) { deployCollection(input: $input) { deployment { id } } }",
      { input: sent },
    );
    const held = String(errors?.[0]?.extensions.details?.deployment);
    const { data } = await api.graphql(cancel, { id: held });
    expect(data["cancelDeployment"]).toEqual({ deployment: { state: "CANCELLED" }, userErrors: [] });
    expect(await listen(held)).toEqual(["CANCELLED"]);
  } finally {
    await h.pauseFactory(false);
  }
  const { data } = await api.graphql(
    "mutation ($input: DeployCollectionInput!) { deployCollection(input: $input) { deployment { id } } }",
    { input: input() },
  );
  const id = String(data["deployCollection"]?.["deployment"]?.["id"]);
  await h.until(api.services, id, ["finalized"]);
  const refused = await api.graphql(cancel, { id });
  expect(refused.data["cancelDeployment"]).toEqual({
    deployment: null,
    userErrors: [{ code: "value_error", field: null }],
  });
});
