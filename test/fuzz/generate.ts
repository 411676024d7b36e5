import { connect } from "node:net";

type Json = Record<string, unknown>;
type Random = () => number;

export interface FuzzRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string;
}

const pick = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;

const address = "0x25d5bf305aa1fbd778b05aaa454405d0094cfa96";
/** What breaks parsers, columns and arithmetic; each was somebody's incident. */
const nasty: readonly unknown[] = [
  ...[
    "",
    " ",
    "0",
    "-1",
    "1e400000",
    "NaN",
    "null",
    "true",
    "a".repeat(3_000),
    "\u0000",
    "a\u0000b",
    "\ud800",
    "\u202e",
  ],
  ...["0x", address, address.toUpperCase(), `${address}0`, "0x".padEnd(66, "f"), "0".repeat(200), "9".repeat(78)],
  ...[
    "115792089237316195423570985008687907853269984665640564039457584007913129639936",
    "goerli",
    "ethereum",
    "rinkeby",
  ],
  ...[
    "2026-02-31",
    "2026-01-01T00:00:00Z",
    "-271822-01-01",
    "9999999-01-01",
    "all",
    "metadata",
    "default",
    "../../etc",
  ],
  ...["%00", "%ff", "%", "';DROP TABLE x;--", "#{7*7}", "__proto__", "constructor", "<script>", "ipfs://x", "{}", "[]"],
  ...[0, -1, 1, 50, 51, 1.5, 1e21, 2 ** 53, -0, true, false, null, [], {}, [[[]]], { x: null }],
];

/** A value for a schema: often one that fits, often one that does not. */
function value(random: Random, schema: Json, depth = 0): unknown {
  if (random() < 0.35 || depth > 4) return pick(random, nasty);
  if (Array.isArray(schema["anyOf"])) return value(random, pick(random, schema["anyOf"] as Json[]), depth);
  if (Array.isArray(schema["enum"])) return pick(random, schema["enum"]);
  const type = Array.isArray(schema["type"]) ? pick(random, schema["type"] as string[]) : schema["type"];
  switch (type) {
    case "object":
      return Object.fromEntries(
        Object.entries((schema["properties"] ?? {}) as Record<string, Json>)
          .filter(() => random() < 0.85)
          .map(([name, member]) => [name, value(random, member, depth + 1)]),
      );
    case "array":
      return Array.from({ length: Math.floor(random() * 4) }, () =>
        value(random, (schema["items"] ?? {}) as Json, depth + 1),
      );
    case "integer":
      return Math.floor(random() * 100) - 5;
    case "number":
      return random() * 10;
    case "boolean":
      return random() < 0.5;
    case "string":
      return String(schema["pattern"] ?? "").includes("64")
        ? `0x${"ab".repeat(32)}`
        : pick(random, [address, "goerli", "name"]);
    default:
      return pick(random, nasty);
  }
}

function queryText(random: Random, item: unknown): string {
  const text = typeof item === "string" ? item : (JSON.stringify(item) ?? "");
  // Half of them as a client would write them, half as they are.
  return random() < 0.5 && /^[\x21-\x7e]*$/.test(text)
    ? text.replaceAll(/[#&\s]/g, "_")
    : encodeURIComponent(text.toWellFormed());
}

/** One request of an operation of the OpenAPI document. */
export function restRequest(random: Random, openApi: Json, key: string): FuzzRequest {
  const paths = openApi["paths"] as Record<string, Record<string, Json>>;
  // A stream is an answer without an end.
  const path = pick(
    random,
    Object.keys(paths).filter((name) => name !== "/v1/events"),
  );
  const methods = paths[path] ?? {};
  const method = pick(random, Object.keys(methods));
  const operation = methods[method] as {
    parameters?: { name: string; in: string; schema: Json }[];
    requestBody?: { content: Record<string, { schema: Json }> };
  };
  let filled = path;
  const query: string[] = [];
  for (const parameter of operation.parameters ?? []) {
    const item = value(random, parameter.schema ?? {});
    if (parameter.in === "path") filled = filled.replace(`{${parameter.name}}`, queryText(random, item) || "x");
    else if (random() < 0.8)
      query.push(
        `${parameter.name}=${queryText(random, parameter.name === "chain" && random() < 0.8 ? "goerli" : item)}`,
      );
  }
  const headers: Record<string, string> = {
    Authorization: random() < 0.95 ? key : String(pick(random, ["x", "Bearer", crypto.randomUUID()])),
  };
  const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const request: FuzzRequest = {
    method: random() < 0.95 ? method.toUpperCase() : pick(random, ["PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"]),
    path: query.length > 0 ? `${filled}?${query.join("&")}` : filled,
    headers,
  };
  if (!content || ["HEAD", "GET"].includes(request.method)) return request;
  if (type?.startsWith("multipart")) return { ...request, ...multipart(random, headers) };
  headers["Content-Type"] =
    random() < 0.95 ? "application/json" : pick(random, ["text/plain", "application/json; charset=utf-16", "x"]);
  const text = JSON.stringify(value(random, { ...content.schema, type: "object" })) ?? "";
  return { ...request, headers, body: random() < 0.9 ? text : mangle(random, text) };
}

function multipart(random: Random, headers: Record<string, string>): Pick<FuzzRequest, "headers" | "body"> {
  const boundary = pick(random, ["b", "--", "x".repeat(70), "b;c"]);
  const parts = Array.from({ length: Math.floor(random() * 4) }, () => {
    const name = pick(random, ["file", "metadata_files", "", "a".repeat(200), "__proto__"]);
    const fileName = pick(random, ["a.txt", "0.json", "1", "../../x", "", ".", ".json", "a\u0000b"]);
    const content = pick(random, ["{}", '{"name":"x"}', "[]", "{", "\u0000", "x".repeat(5_000)]);
    return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="${fileName}"\r\nContent-Type: application/json\r\n\r\n${content}\r\n`;
  });
  const text = `${parts.join("")}--${boundary}--\r\n`;
  return {
    headers: { ...headers, "Content-Type": `multipart/form-data; boundary=${random() < 0.9 ? boundary : "other"}` },
    body: random() < 0.7 ? text : mangle(random, text),
  };
}

/** A text with something missing, doubled or replaced. */
function mangle(random: Random, text: string): string {
  const at = Math.floor(random() * text.length);
  switch (Math.floor(random() * 4)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(0, at) + String(pick(random, nasty)) + text.slice(at);
    case 2:
      return text + text;
    default:
      return "[".repeat(Math.floor(random() * 20_000)) + text;
  }
}

const fields = [
  "contract",
  "chain",
  "chains",
  "nft",
  "account",
  "deployment",
  "viewer",
  "status",
  "eligibility",
  "search",
  "__schema",
  "__typename",
  "nothing",
];
const members = [
  "nodes { tokenId metadata contract { name } }",
  "pageInfo { endCursor }",
  "id",
  'nfts(chain: "goerli") { totalCount }',
  "keys { id }",
  "deployments { nodes { id collection { address contract { owners { totalCount } } } } }",
  "latestNfts { nodes { holders { nodes { address } } transfers { nodes { nft { name } } } } }",
  "address",
  "totalCount",
  "__typename",
  "edges { cursor node { id } }",
];
const argumentNames = [
  "chain",
  "first",
  "after",
  "last",
  "before",
  "contract",
  "tokenId",
  "id",
  "address",
  "collection",
  "wallet",
  "transactionHash",
];

/** A GraphQL request: words of the schema, put together by the seeded generator. */
export function graphqlRequest(random: Random, key: string): FuzzRequest {
  const literal = () => {
    const item = pick(random, nasty);
    if (random() < 0.3) return "$v";
    if (typeof item === "string") return JSON.stringify(item.toWellFormed());
    return typeof item === "object" ? "null" : String(item);
  };
  const args = () => {
    const names = argumentNames.filter(() => random() < 0.3);
    if (names.length === 0) return "";
    return `(${names.map((name) => `${name}: ${name === "chain" && random() < 0.8 ? '"goerli"' : literal()}`).join(", ")})`;
  };
  const selection = Array.from(
    { length: 1 + Math.floor(random() * 3) },
    () =>
      `${random() < 0.2 ? "a: " : ""}${pick(random, fields)}${args()}${random() < 0.7 ? ` { ${members.filter(() => random() < 0.4).join(" ") || "__typename"} }` : ""}`,
  );
  const document = `${pick(random, ["query", "query", "query", "mutation", "subscription"])} ($v: ${pick(random, ["String", "Int", "ID", "Address"])}) { ${selection.join(" ")} }`;
  const body = JSON.stringify({
    query: random() < 0.9 ? document : mangle(random, document),
    variables: random() < 0.9 ? { v: pick(random, nasty) } : pick(random, nasty),
    ...(random() < 0.1 ? { operationName: pick(random, nasty) } : {}),
  });
  return {
    method: pick(random, ["POST", "POST", "POST", "POST", "GET"]),
    path: "/graphql",
    headers: { Authorization: key, "Content-Type": random() < 0.95 ? "application/json" : "application/graphql" },
    body: random() < 0.95 ? body : mangle(random, body),
  };
}

const fragments = [
  "GET ",
  "POST ",
  "/v0/files",
  "/graphql",
  " HTTP/1.1\r\n",
  "\r\n",
  "\r\n\r\n",
  "Host: x\r\n",
  "Content-Length: 5\r\n",
  "Content-Length: -1\r\n",
  "Transfer-Encoding: chunked\r\n",
  "5\r\nhello\r\n",
  "ffffffffffffffff\r\n",
  "Authorization: x\r\n",
  "\u0000",
  "Expect: 100-continue\r\n",
  "Upgrade: websocket\r\nConnection: Upgrade\r\n",
  "Content-Type: multipart/form-data; boundary=b\r\n",
  "--b\r\n",
  "é",
  "/../..%2f",
  "http://evil.example/v0/nfts",
];

/** Bytes that are hardly HTTP. @returns the status line that came back, or "" when the server closed. */
export async function rawExchange(random: Random, port: number): Promise<string> {
  const text = Array.from({ length: 2 + Math.floor(random() * 10) }, () => pick(random, fragments)).join("");
  return await new Promise((done) => {
    const socket = connect(port, "127.0.0.1");
    let answer = "";
    socket.setTimeout(500, () => socket.destroy());
    socket.on("data", (chunk) => {
      answer += chunk;
    });
    socket.on("error", () => undefined);
    socket.once("close", () => done(answer.split("\r\n")[0] ?? ""));
    socket.end(text, "latin1");
  });
}
