import { parse, print } from "graphql";
import { bindGraphql, bindRest, type RestCall, type Variable } from "./bind.ts";
import { type Example, LocalFile, markPattern, yourKey, yourKeyExpression, yours } from "./example.ts";
import { printValue } from "./literals.ts";
import type { Schemas } from "./schemas.ts";

/** A text to copy, with marks for the reader's values. */
export interface Snippet {
  /** Its label, if a tab has several. */
  label: string;
  kind: "curl" | "document" | "variables" | "typescript";
  text: string;
}

/** An example in each of its forms. */
export interface Snippets {
  curl: Snippet[];
  /** Null: GraphQL has no such field. */
  graphql: Snippet[] | null;
  typescript: Snippet[];
}

/** All forms of an example, made from its single declaration. */
export function snippetsOf(schemas: Schemas, example: Example): Snippets {
  const rest = example.rest === undefined ? null : bindRest(schemas, example);
  const variables = example.graphql === undefined ? null : bindGraphql(schemas, example);
  const document = variables && printDocument(example, variables);
  const text = rest ? restProgram(rest) : graphqlProgram(example, document ?? "", variables ?? []);
  return {
    curl: [{ label: "curl", kind: "curl", text: rest ? restCurl(rest) : graphqlCurl(example, variables ?? []) }],
    graphql: variables && graphqlSnippets(example, document ?? "", variables),
    typescript: [{ label: "TypeScript", kind: "typescript", text }],
  };
}

function graphqlSnippets(example: Example, document: string, variables: readonly Variable[]): Snippet[] {
  const snippets: Snippet[] = [{ label: "Document", kind: "document", text: document }];
  if (filesIn(variables).length > 0)
    return [...snippets, { label: "curl", kind: "curl", text: graphqlCurl(example, variables) }];
  if (variables.length === 0) return snippets;
  return [...snippets, { label: "Variables", kind: "variables", text: printValue(valuesOf(variables), "json") }];
}

const valuesOf = (variables: readonly Variable[]) =>
  Object.fromEntries(variables.map(({ name, value }) => [name, value]));

function printDocument(example: Example, variables: readonly Variable[]): string {
  return print(parse(documentText(example, variables)));
}

function documentText({ graphql = "", select = "" }: Example, variables: readonly Variable[]): string {
  const [kind = "", field = ""] = graphql.split(" ");
  const name = field.charAt(0).toUpperCase() + field.slice(1);
  const declared = variables.map((variable) => `$${variable.name}: ${variable.type}`).join(", ");
  const passed = variables
    .filter(({ isArgument }) => isArgument)
    .map((variable) => `${variable.name}: $${variable.name}`);
  const given = passed.length > 0 ? `(${passed.join(", ")})` : "";
  return `${kind} ${name}${declared ? `(${declared})` : ""} { ${field}${given} { ${select} } }`;
}

/** Each file in the variables, lists included, with its path in the multipart request. */
function filesIn(variables: readonly Variable[]): { path: string; file: LocalFile }[] {
  return variables.flatMap(({ name, value }) =>
    value instanceof LocalFile
      ? [{ path: `variables.${name}`, file: value }]
      : Array.isArray(value) && value[0] instanceof LocalFile
        ? value.map((file: LocalFile, at) => ({ path: `variables.${name}.${at}`, file }))
        : [],
  );
}

/** Quotes a text for the shell, in single quotes. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

const keyHeader = `-H "Authorization: ${yourKey}"`;
/** The server requires it for forms, so that a page of another origin cannot send one unasked. */
const csrfHeader = `-H "X-GraphQL-Yoga-CSRF: 1"`;
const jsonHeader = `-H "Content-Type: application/json"`;
const lines = (...parts: string[]) => parts.filter(Boolean).join(" \\\n  ");

/** URL-encodes a value, except for its marks. */
function encode(value: unknown): string {
  const text = String(value);
  const marks = text.match(markPattern) ?? [];
  return text
    .split(markPattern)
    .map((part, at) => (at % 2 === 1 ? marks[(at - 1) / 2] : encodeURIComponent(part)))
    .join("");
}

function addressOf({ operation, path, query }: RestCall): string {
  const filled = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encode(path[name]));
  const search = Object.entries(query).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one: unknown) => `${name}=${encode(one)}`),
  );
  return `${yours.url}${filled}${search.length > 0 ? `?${search.join("&")}` : ""}`;
}

const needsKey = ({ operation }: RestCall) => !["/v0/", "/v0/signup"].includes(operation.path);

function restCurl(call: RestCall): string {
  const { operation, body } = call;
  const isStream = operation.responses["200"]?.content?.["text/event-stream"] !== undefined;
  const isForm = operation.requestBody?.content["multipart/form-data"] !== undefined;
  const method =
    operation.method === "get" || (operation.method === "post" && body) ? "" : `-X ${operation.method.toUpperCase()} `;
  const parts = [`curl -sS ${isStream ? "-N " : ""}${method}"${addressOf(call)}"`, needsKey(call) ? keyHeader : ""];
  if (body && isForm)
    for (const [name, value] of Object.entries(body))
      for (const file of [value].flat() as LocalFile[]) parts.push(`-F ${name}=@${file.name}`);
  else if (body) parts.push(jsonHeader, `-d ${quoted(printValue(body, "json"))}`);
  return lines(...parts);
}

function graphqlCurl(example: Example, variables: readonly Variable[]): string {
  const values = valuesOf(variables);
  const body = { query: documentText(example, variables), ...(variables.length > 0 ? { variables: values } : {}) };
  const files = filesIn(variables);
  const isStream = example.graphql?.startsWith("subscription");
  const start = [`curl -sS ${isStream ? "-N " : ""}"${yours.url}/graphql"`, keyHeader];
  if (files.length === 0)
    return lines(
      ...start,
      ...(isStream ? [`-H "Accept: text/event-stream"`] : []),
      jsonHeader,
      `-d ${quoted(printValue(body, "json"))}`,
    );
  const map = Object.fromEntries(files.map(({ path }, at) => [at, [path]]));
  const parts = files.map(({ file }, at) => `-F ${at}=@${file.name}`);
  const operations = `-F operations=${quoted(printValue(body, "json"))}`;
  return lines(...start, csrfHeader, operations, `-F map=${quoted(JSON.stringify(map))}`, ...parts);
}

const client = (imports: readonly string[]) =>
  `import { createClient } from "@mintyard/client";\n${imports.map((line) => `${line}\n`).join("")}
const mintyard = createClient({ url: "${yours.url}", key: ${yourKeyExpression} });\n`;

function restProgram(call: RestCall): string {
  const { operation, path, query, body } = call;
  const parts = {
    ...(Object.keys(path).length > 0 ? { path } : {}),
    ...(Object.keys(query).length > 0 ? { query } : {}),
    ...(body ? { body } : {}),
  };
  const input = Object.keys(parts).length > 0 ? printValue(parts, "typescript") : "";
  const readsFile = input.includes("readFile(");
  const start = client(readsFile ? [`import { readFile } from "node:fs/promises";`] : []);
  if (operation.responses["200"]?.content?.["text/event-stream"])
    return `${start}for await (const event of mintyard.events(${input})) {\n  console.log(event);\n}\n`;
  if (isTransaction(operation))
    return `${start}const answer = await mintyard.transact("${operation.method}", "${operation.path}", ${input});\nconsole.log(answer);\n`;
  return `${start}const answer = await mintyard.${operation.method}("${operation.path}"${input && `, ${input}`});\nconsole.log(answer);\n`;
}

/** Whether the client's `transact` sends it: its answer has a transaction hash. */
function isTransaction({ method, responses }: RestCall["operation"]): boolean {
  const answer = responses["200"]?.content?.["application/json"]?.schema.properties;
  return method !== "get" && answer?.["transaction_hash"] !== undefined;
}

function graphqlProgram(example: Example, document: string, variables: readonly Variable[]): string {
  const start = client([`import { graphql } from "@mintyard/client/graphql";`]);
  const text = document.trim().replaceAll("\n", "\n  ");
  const given = variables.length > 0 ? `, ${printValue(valuesOf(variables), "typescript")}` : "";
  const made = `${start}const document = graphql(\`\n  ${text}\n\`);\n`;
  if (example.graphql?.startsWith("subscription"))
    return `${made}for await (const answer of mintyard.subscribe(document${given})) {\n  console.log(answer);\n}\n`;
  return `${made}const answer = await mintyard.graphql(document${given});\nconsole.log(answer);\n`;
}
