import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Answer } from "../setup/send.ts";
import { type RelayHarness, randomAddress } from "../transactions/harness.ts";
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

test("a deployment is followed by its id, its address and the list, and answers the presale question", async () => {
  const wallet = randomAddress();
  const { data } = (
    await api.post("/graphql", {
      query: `mutation ($input: DeployCollectionInput!) { deployCollection(input: $input) {
        deployment { id predictedAddress collection { address } } warnings userErrors { code field message } } }`,
      variables: { input: input({ allowlist: [wallet], presaleMintStart: "2022-07-11T00:00:00Z" }) },
    })
  ).body as unknown as { data: Answer["body"] };
  const { deployment, userErrors, warnings } = data.deployCollection;
  expect({ userErrors, warnings, collection: deployment.collection }).toEqual({
    userErrors: [],
    warnings: [],
    collection: null,
  });
  await h.until(api.services, deployment.id, ["finalized"]);
  const query = `query ($id: ID!, $collection: Address!, $wallet: Address!) {
    deployment(id: $id) { state collection { address deploymentName: name } block publicMintStart presaleMerkleRoot }
    byAddress: deployment(chain: "goerli", collection: $collection) { id }
    viewer { deployments(first: 1) { nodes { id collection { address } } pageInfo { hasNextPage endCursor } } }
    eligibility(chain: "goerli", collection: $collection, wallet: $wallet) { eligible reason proof }
  }`;
  const variables = { id: deployment.id, collection: deployment.predictedAddress, wallet };
  const answer = await api.graphql(query, variables);
  expect(answer.errors).toBeUndefined();
  expect(answer.data).toMatchObject({
    deployment: {
      state: "FINALIZED",
      collection: { address: deployment.predictedAddress },
      publicMintStart: "2022-07-12T11:30:48.000Z",
    },
    byAddress: { id: deployment.id },
    viewer: {
      deployments: {
        nodes: [{ id: deployment.id, collection: { address: deployment.predictedAddress } }],
        pageInfo: { hasNextPage: true },
      },
    },
    eligibility: { eligible: true, reason: null, proof: [] },
  });
});
