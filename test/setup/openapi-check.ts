import { readFileSync } from "node:fs";

type Schema = Record<string, unknown>;
type Node = { [name: string]: Node } & Schema;

const document = JSON.parse(readFileSync(new URL("../../schema/openapi.json", import.meta.url), "utf8")) as Node;

/**
 * What is wrong with an answer by the committed OpenAPI document; empty when nothing is. Objects are
 * closed here: a member that the document does not name is a fault too.
 */
export function faultsOfAnswer(method: string, path: string, status: number, body: unknown): string[] {
  const operation = operationOf(method, path);
  if (!operation) return [`${method} ${path} is not in the document`];
  const responses = operation["responses"];
  const response = responses?.[String(status)] ?? (status >= 400 ? responses?.["default"] : undefined);
  const schema = response?.["content"]?.["application/json"]?.["schema"];
  if (!schema) return [`${method} ${path} does not answer ${status}`];
  return faultsOf(schema, body, "answer");
}

/**
 * Fails the running test when an answer of `/v0` or `/v1` is not what the committed document promises. Paths and methods that
 * the document does not have must be refused in the shape of every failure.
 */
export function checkAnswer(method: string, path: string, status: number, body: unknown): void {
  if (!/^\/v[01]\//.test(path)) return;
  const known = operationOf(method, path) !== undefined;
  const failure = document["components"]?.["schemas"]?.["Error"];
  const faults =
    known || !failure
      ? faultsOfAnswer(method, path, status, body)
      : status >= 400
        ? faultsOf(failure, body, "answer")
        : [`${status} for what the document does not have`];
  if (faults.length > 0) throw new Error(`${method} ${path} ${status}: ${faults.slice(0, 5).join("; ")}`);
}

function operationOf(method: string, path: string): Node | undefined {
  const parts = path.replace(/\?.*$/, "").split("/").filter(Boolean);
  const candidates = Object.entries(document["paths"] as Record<string, Node>).filter(([pattern]) => {
    const wanted = pattern.split("/").filter(Boolean);
    return wanted.length === parts.length && wanted.every((part, at) => part.startsWith("{") || part === parts[at]);
  });
  // Fixed segments win over parameters.
  const parameters = (pattern: string) => pattern.split("{").length;
  const [best] = candidates.sort(([a], [b]) => parameters(a) - parameters(b));
  return best?.[1][method.toLowerCase()];
}

function faultsOf(schema: Node, value: unknown, at: string): string[] {
  const reference = schema["$ref"] as unknown;
  if (typeof reference === "string") {
    const target = reference
      .slice(2)
      .split("/")
      .reduce<Node | undefined>((node, name) => node?.[name], document);
    return target ? faultsOf(target, value, at) : [`${at}: ${reference} is nowhere`];
  }
  const alternatives = schema["anyOf"] as unknown as Node[] | undefined;
  if (alternatives) {
    return alternatives.some((one) => faultsOf(one, value, at).length === 0) ? [] : [`${at}: none of anyOf`];
  }
  if ("const" in schema) return value === (schema["const"] as unknown) ? [] : [`${at}: not ${String(schema["const"])}`];
  const words = schema["enum"] as unknown as unknown[] | undefined;
  if (words) return words.includes(value) ? [] : [`${at}: ${String(value)} is none of ${words.join(", ")}`];
  const types = [schema["type"] as unknown].flat() as string[];
  if (!types.includes("undefined") && types[0] !== undefined && !types.some((type) => isOfType(type, value))) {
    return [`${at}: ${JSON.stringify(value)?.slice(0, 80)} is not of type ${types.join("|")}`];
  }
  const pattern = schema["pattern"] as unknown;
  if (typeof pattern === "string" && typeof value === "string" && !new RegExp(pattern).test(value)) {
    return [`${at}: ${value} does not match ${pattern}`];
  }
  const items = schema["items"];
  if (Array.isArray(value) && items) return value.flatMap((item, index) => faultsOf(items, item, `${at}[${index}]`));
  const properties = schema["properties"];
  if (typeof value !== "object" || value === null || !properties) return [];
  const members = value as Record<string, unknown>;
  const missing = ((schema["required"] ?? []) as unknown as string[]).filter((name) => !(name in members));
  return [
    ...missing.map((name) => `${at}.${name} is missing`),
    ...Object.entries(members).flatMap(([name, member]) =>
      properties[name] ? faultsOf(properties[name], member, `${at}.${name}`) : [`${at}.${name} is not in the document`],
    ),
  ];
}

function isOfType(type: string, value: unknown): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return typeof value === "object" && value !== null && !Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}
