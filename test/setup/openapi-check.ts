import { readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

type Json = Record<string, unknown>;
type Response = { content?: { "application/json"?: { schema?: Json } } };
type Operation = { responses?: Record<string, Response> };

const document = JSON.parse(readFileSync(new URL("../../schema/openapi.json", import.meta.url), "utf8")) as {
  paths: Record<string, Record<string, Operation>>;
  components: Json;
};

const ajv = new Ajv2020({
  allErrors: true,
  allowUnionTypes: true,
  formats: {
    "date-time": (text: string) => !Number.isNaN(Date.parse(text)),
    uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
    binary: true,
  },
});
ajv.addVocabulary(["components"]);
const validators = new Map<Json, ValidateFunction>();
const failure: Json = { $ref: "#/components/schemas/Error" };

/**
 * What is wrong with an answer by the committed OpenAPI document; empty when nothing is. Objects are
 * closed here: a member that the document does not name is a fault too.
 */
export function faultsOfAnswer(method: string, path: string, status: number, body: unknown): string[] {
  const operation = operationOf(method, path);
  if (!operation) return [`${method} ${path} is not in the document`];
  const { responses = {} } = operation;
  const response = responses[String(status)] ?? (status >= 400 ? responses["default"] : undefined);
  const schema = response?.content?.["application/json"]?.schema;
  return schema ? faultsOf(schema, body) : [`${method} ${path} does not answer ${status}`];
}

/**
 * Fails the running test when an answer of `/v0` or `/v1` is not what the committed document promises. Paths and methods that
 * the document does not have must be refused in the shape of every failure.
 */
export function checkAnswer(method: string, path: string, status: number, body: unknown): void {
  if (!/^\/v[01]\//.test(path)) return;
  const faults = operationOf(method, path)
    ? faultsOfAnswer(method, path, status, body)
    : status >= 400
      ? faultsOf(failure, body)
      : [`${status} for what the document does not have`];
  if (faults.length > 0) throw new Error(`${method} ${path} ${status}: ${faults.slice(0, 5).join("; ")}`);
}

function operationOf(method: string, path: string): Operation | undefined {
  const parts = path.replace(/\?.*$/, "").split("/").filter(Boolean);
  const candidates = Object.entries(document.paths).filter(([pattern]) => {
    const wanted = pattern.split("/").filter(Boolean);
    return wanted.length === parts.length && wanted.every((part, at) => part.startsWith("{") || part === parts[at]);
  });
  // Fixed segments win over parameters.
  const parameters = (pattern: string) => pattern.split("{").length;
  const [best] = candidates.sort(([a], [b]) => parameters(a) - parameters(b));
  return best?.[1][method.toLowerCase()];
}

function faultsOf(schema: Json, value: unknown): string[] {
  const validate =
    validators.get(schema) ?? ajv.compile(closed({ ...schema, components: document.components }) as Json);
  validators.set(schema, validate);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `answer${instancePath}: ${message} ${JSON.stringify(params)}`,
  );
}

/** The schema with its objects closed, but for those that say what further members are. */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== "object" || node === null) return node;
  const made: Json = Object.fromEntries(Object.entries(node).map(([name, value]) => [name, closed(value)]));
  const isObject = made["type"] === "object" && typeof made["properties"] === "object";
  return isObject ? { additionalProperties: false, ...made } : made;
}
