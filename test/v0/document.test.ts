import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { requestStates, sampleEvent, sampleTypes } from "../../src/events/sample-event.ts";
import { createOpenApi } from "../../src/rest/openapi.ts";
import { HttpApi } from "../collections/http-api.ts";
import { ProductScenario } from "../products/scenario.ts";
import { faultsOfAnswer } from "../setup/openapi-check.ts";

type Json = Record<string, unknown>;
type Content = { content?: Record<string, { schema: Json; example?: unknown }> };
interface Operation {
  description?: string;
  tags?: string[];
  parameters?: { name: string; description?: string }[];
  requestBody?: Content;
  responses: Record<string, Content>;
}

const document = createOpenApi() as unknown as {
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: { schemas: Record<string, Json> };
};
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    method,
    path,
    operation,
  })),
);
const isSentence = (text: string | undefined) => /^[^a-z].*[.]$/s.test(text ?? "");

/** Names of the members of a schema, at any depth, that have no sentence of their own. */
function undescribed(schema: unknown, at: string): string[] {
  if (Array.isArray(schema)) return schema.flatMap((part) => undescribed(part, at));
  if (typeof schema !== "object" || schema === null) return [];
  const { properties = {}, items, anyOf, oneOf, allOf, additionalProperties } = schema as Record<string, Json>;
  const members = Object.entries(properties as Record<string, Json>).flatMap(([name, member]) => [
    ...(isSentence(member["description"] as string) ? [] : [`${at}.${name}`]),
    ...undescribed(member, `${at}.${name}`),
  ]);
  return [...members, ...undescribed([items, anyOf, oneOf, allOf, additionalProperties], `${at}[]`)];
}

const schemasOf = ({ content = {} }: Content) => Object.values(content).map(({ schema }) => schema);

test("every operation has a description and one tag, and every tag is described", () => {
  const bare = operations.filter(
    ({ operation: { description, tags = [] } }) =>
      !isSentence(description) || tags.length !== 1 || !document.tags.some(({ name }) => name === tags[0]),
  );
  expect(bare.map(({ name }) => name)).toEqual([]);
  expect(document.tags.filter(({ description }) => !isSentence(description))).toEqual([]);
});

test("every parameter has a description", () => {
  const bare = operations.flatMap(({ name, operation: { parameters = [] } }) =>
    parameters.filter(({ description }) => !isSentence(description)).map((parameter) => `${name}: ${parameter.name}`),
  );
  expect(bare).toEqual([]);
});

test("every property of requests and answers has a description", () => {
  const ofErrors = Object.entries(document.components.schemas).flatMap(([name, schema]) => undescribed(schema, name));
  const ofOperations = operations.flatMap(({ name, operation: { requestBody = {}, responses } }) => [
    ...undescribed(schemasOf(requestBody), `${name} request`),
    ...Object.entries(responses).flatMap(([status, answer]) => undescribed(schemasOf(answer), `${name} ${status}`)),
  ]);
  const ofEvents = Object.entries(document.webhooks).flatMap(([name, { post }]) =>
    undescribed(schemasOf(post.requestBody ?? {}), name),
  );
  expect([...ofErrors, ...ofOperations, ...ofEvents]).toEqual([]);
});

const jsonBodies = operations.flatMap(({ operation: { requestBody }, ...operation }) => {
  const json = requestBody?.content?.["application/json"];
  return json ? [{ ...operation, ...json }] : [];
});

/** A schema whose objects have no other members than those that it names. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const made = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, closed(part)]));
  return typeof made["properties"] === "object" ? { ...made, additionalProperties: false } : made;
}

test("the example of every JSON request is what its schema asks for", () => {
  const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true });
  const faults = jsonBodies.flatMap(({ name, schema, example }) =>
    ajv.validate(closed(schema) as Json, example) ? [] : [`${name}: ${ajv.errorsText()}`],
  );
  expect(faults).toEqual([]);
});

test("the body of every event, invented ones included, is what the document says of it", () => {
  const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true });
  const schemas = Object.values(document.webhooks).flatMap(({ post }) => schemasOf(post.requestBody ?? {}));
  const fitting = (event: unknown) => schemas.filter((schema) => ajv.validate(closed(schema) as Json, event)).length;
  const types = [...sampleTypes, ...requestStates.map((state) => `mint.${state}`)];
  const samples = types.map((type) => sampleEvent(type, "evt_1", new Date()));
  expect(samples.map((event) => [event?.type, fitting(event)])).toEqual(types.map((type) => [type, 1]));
});

test("the example of an answer is what the operation answers", () => {
  const faults = operations.flatMap(({ name, method, path, operation: { responses } }) => {
    const example = responses["200"]?.content?.["application/json"]?.example;
    if (example === undefined) return [];
    return faultsOfAnswer(method.toUpperCase(), path, 200, example).map((fault) => `${name}: ${fault}`);
  });
  expect(faults).toEqual([]);
});

let scenario: ProductScenario;
let api: HttpApi;
beforeAll(async () => {
  scenario = await ProductScenario.start();
  api = await HttpApi.start(scenario.services);
});
afterAll(async () => {
  await api?.stop();
  await scenario?.stop();
});

test("the example of every JSON request is accepted, or refused for the contract alone, which is nobody's", async () => {
  const key = await api.post("/v0/me/keys", { name: "mine", scopes: ["read"] });
  const webhook = await api.post("/v1/webhooks", { url: "https://example.com/hook" });
  const ids = { keys: key.body["key"]?.["id"], webhooks: webhook.body["webhook"]?.["id"] };
  const refused: unknown[] = [];
  const accepted: string[] = [];
  for (const { name, method, path, example } of jsonBodies) {
    const id = path.startsWith("/v1/webhooks") ? ids.webhooks : ids.keys;
    // The scenario has the test chain alone.
    const body = JSON.parse(JSON.stringify(example).replaceAll('"polygon"', '"goerli"')) as Json;
    const dryRun = path === "/v0/contracts/collections" ? "?dry_run=true" : "";
    const answer = await api.send(method.toUpperCase(), path.replace("{id}", String(id)) + dryRun, body);
    const error = answer.body["error"] as Json | null;
    if (answer.status === 200) accepted.push(name);
    else if (answer.status !== 404 || !("contract_address" in body) || error?.["code"] !== "not_found")
      refused.push([name, answer.status, error?.["code"], error?.["message"]]);
  }
  expect(refused).toEqual([]);
  expect(accepted).toHaveLength(12);
});
