import { readFileSync } from "node:fs";
import { buildSchema, GraphQLInputObjectType, isNonNullType } from "graphql";
import { expect, test } from "vitest";
import { createKeyFields, rotateKeyFields } from "../../src/accounts/keys.ts";
import { signUpFields } from "../../src/accounts/sign-up.ts";
import { deployFields, updateFields } from "../../src/collections/deployment-input.ts";
import { filterFields, newWebhookFields, webhookFields } from "../../src/events/event-input.ts";
import { replayFields, testFields } from "../../src/events/webhook-deliveries.ts";
import { rotateFields } from "../../src/events/webhooks.ts";
import { tokenRequests } from "../../src/products/check-tokens.ts";
import { contractChangeFields, contractFields } from "../../src/products/create-contract.ts";
import { easyUrlFields } from "../../src/products/easy-mint.ts";
import { type Fields, renamerOf } from "../../src/requests/fields.ts";
import { readBody } from "../../src/rest/bodies.ts";
import { Input } from "../../src/rest/input.ts";

interface Schema {
  type?: string;
  pattern?: string;
  enum?: string[];
  anyOf?: Schema[];
  items?: Schema;
  minimum?: number;
  properties?: Record<string, Schema>;
  required?: string[];
}

const document = JSON.parse(readFileSync("schema/openapi.json", "utf8"));
const bodies: Record<string, Fields> = {
  "post /v0/contracts/collections": deployFields,
  "put /v0/contracts/collections": updateFields,
  "post /v0/contracts": contractFields,
  "put /v0/contracts": contractChangeFields,
  "post /v0/mints/customizable": tokenRequests.mint,
  "put /v0/mints/customizable": tokenRequests.update,
  "delete /v0/mints/customizable": tokenRequests.burn,
  "post /v0/mints/customizable/batch": tokenRequests.mintBatch,
  "delete /v0/mints/customizable/batch": tokenRequests.burnBatch,
  "post /v0/mints/transfers": tokenRequests.transfer,
  "post /v0/mints/transfers/batch": tokenRequests.transferBatch,
  "post /v0/mints/easy/urls": easyUrlFields,
  "post /v0/signup": signUpFields,
  "post /v0/me/keys": createKeyFields,
  "post /v0/me/keys/{id}/rotate": rotateKeyFields,
  "post /v1/webhooks": { ...newWebhookFields, ...filterFields },
  "patch /v1/webhooks/{id}": { ...webhookFields, ...filterFields },
  "post /v1/webhooks/{id}/rotate": rotateFields,
  "post /v1/webhooks/{id}/test": testFields,
  "post /v1/webhooks/{id}/replay": replayFields,
};

function schemaOf(operation: string): Schema {
  const [method = "", path = ""] = operation.split(" ");
  return document.paths[path][method].requestBody.content["application/json"].schema;
}

/** A value that the document allows. */
function sampleOf(name: string, { type, pattern, enum: words, anyOf, items, minimum, properties }: Schema): unknown {
  if (anyOf) return sampleOf(name, anyOf[0] ?? {});
  if (words) return words[0];
  if (type === "array") return [sampleOf(name, items ?? {})];
  if (type === "object")
    return Object.fromEntries(Object.entries(properties ?? {}).map(([key, value]) => [key, sampleOf(key, value)]));
  if (type === "boolean") return true;
  if (type === "integer" || type === "number") return String(minimum ?? 1);
  if (pattern?.includes("40")) return `0x${"a1".repeat(20)}`;
  if (pattern?.includes("\\d")) return "7";
  return /start|since|until|expires/.test(name) ? "2026-01-31T12:00:00Z" : "text";
}

test.each(Object.entries(bodies))("%s reads each member that its document has, and no other", (operation, fields) => {
  const schema = schemaOf(operation);
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const body = { [name]: sampleOf(name, member) };
    const input = Input.fromBody(body);
    const read = readBody(input, fields);
    expect(input.unknown(), name).toEqual([]);
    expect(
      Object.values(read).filter(
        (value) => value !== undefined && (Array.isArray(body[name]) || !Array.isArray(value)),
      ),
      name,
    ).toHaveLength(1);
    expect(
      input.faults().filter(({ code }) => code !== "parameter_missing"),
      name,
    ).toEqual([]);
  }
  expect(Object.keys(schema.properties ?? {}).length).toBeGreaterThan(0);
});

test.each(Object.entries(bodies))("%s wants what its document calls required", (operation, fields) => {
  const schema = schemaOf(operation);
  const input = Input.fromBody({});
  readBody(input, fields);
  const missing = input.faults().map(({ code, field }) => [code, field]);
  // An older name satisfies this one too, which `required` cannot say.
  const either = Object.keys(schema.properties ?? {}).filter((name) =>
    /Required, under/.test(JSON.stringify(schema.properties?.[name])),
  );
  const wanted = [...(schema.required ?? []), ...either];
  expect(missing.sort()).toEqual(wanted.map((name) => ["parameter_missing", name]).sort());
});

test("GraphQL's input types have the declared members, under the names that errors give", () => {
  const schema = buildSchema(readFileSync("schema/schema.graphql", "utf8"));
  const inputs: Record<string, Fields> = {
    DeployCollectionInput: deployFields,
    UpdateCollectionInput: updateFields,
    CreateContractInput: contractFields,
    EventFilter: filterFields,
    ReplayEventsInput: replayFields,
  };
  for (const [name, fields] of Object.entries(inputs)) {
    const type = schema.getType(name);
    if (!(type instanceof GraphQLInputObjectType)) throw new Error(`${name} is no input type`);
    const shown = Object.keys(fields).map(renamerOf("graphql", fields));
    expect(Object.keys(type.getFields()).sort(), name).toEqual(shown.sort());
    for (const [member, { required }] of Object.entries(fields))
      expect(isNonNullType(type.getFields()[renamerOf("graphql", fields)(member)]?.type), member).toBe(
        required === true,
      );
  }
});

test("a fault deep in a list has the names of its API", () => {
  const { mintBatch } = tokenRequests;
  expect(renamerOf("v0", mintBatch)("tokens[3].uri")).toBe("tokens[3].metadata_uri");
  expect(renamerOf("v0", deployFields)("allowlist[7]")).toBe("presale_whitelisted_addresses[7]");
  expect(renamerOf("graphql", contractFields)("roles[1].addresses")).toBe("roles[1].addresses");
  expect(renamerOf("v0", deployFields)("idempotencyKey")).toBe("Idempotency-Key");
});
