import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import type { ReadableStream as NodeStream } from "node:stream/web";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RelayHarness } from "../relay/harness.ts";
import type { HttpApi } from "./http-api.ts";
import { input, LaunchFixture } from "./launch-fixture.ts";

let fixture: LaunchFixture;
let h: RelayHarness;
let api: HttpApi;
beforeAll(async () => {
  fixture = await LaunchFixture.start();
  ({ h, api } = fixture);
});
afterAll(() => fixture?.stop());

/** Reads server-sent events until `enough` or the end; then leaves. */
async function listen(id: string, enough: (states: string[]) => boolean = () => false) {
  const leaving = new AbortController();
  const response = await fetch(`${api.base}/graphql`, {
    method: "POST",
    headers: { Authorization: api.key, "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify({
      query: "subscription ($id: ID!) { deployment(id: $id) { state collection { address } } }",
      variables: { id },
    }),
    signal: leaving.signal,
  });
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  const states: string[] = [];
  let text = "";
  if (!response.body) throw new Error("no body");
  for await (const chunk of Readable.fromWeb(response.body as NodeStream)) {
    text += Buffer.from(chunk).toString("utf8");
    for (const [, data = ""] of text.matchAll(/^data: ?(\{.*\})$/gm)) {
      const { data: payload, errors } = JSON.parse(data);
      states.push(payload?.deployment?.state ?? errors?.[0]?.extensions?.code);
    }
    text = text.slice(text.lastIndexOf("\n\n") + 1);
    if (enough(states)) break;
  }
  leaving.abort();
  return states;
}

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
