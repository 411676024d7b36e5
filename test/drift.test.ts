import { readFileSync } from "node:fs";
import { lexicographicSortSchema, printSchema } from "graphql";
import { expect, test } from "vitest";
import { clientTypes } from "../bin/generate-client-types.ts";
import { rolesFile } from "../schema/analyst-admin.ts";
import { loadConfig } from "../src/config/config.ts";
import { createSchema } from "../src/graphql/schema.ts";
import { createOpenApi } from "../src/rest/openapi.ts";
import { loadSignerConfig } from "../src/signing/signer-config.ts";

const committed = (name: string) => readFileSync(new URL(`../schema/${name}`, import.meta.url), "utf8");

test("schema/schema.graphql is the schema that is served", () => {
  expect(committed("schema.graphql")).toBe(`${printSchema(lexicographicSortSchema(createSchema()))}\n`);
});

test("schema/openapi.json is the document that is served", () => {
  expect(JSON.parse(committed("openapi.json"))).toEqual(JSON.parse(JSON.stringify(createOpenApi())));
});

test("the types of the client are those of both documents, and its version is that of the service", async () => {
  // Not by `toBe`: the difference of two such texts takes minutes to make.
  for (const [name, text] of Object.entries(await clientTypes()))
    expect(committed(`../client/src/generated/${name}`) === text, `${name}: run npm run generate`).toBe(true);
  const versionOf = (name: string) => (JSON.parse(committed(name)) as { version: string }).version;
  expect(versionOf("../client/package.json")).toBe(versionOf("../package.json"));
});

test("deploy/roles.sql is what the code gives an installation", () => {
  expect(committed("../deploy/roles.sql")).toBe(rolesFile());
});

/** Set by `npm start` and by chaos runs for their children, by nobody else. */
const internal = ["LOCAL_POLYGON", "MINTYARD_CHAOS_CRASH"];
/** Read where the embedded parts are started, before there is a configuration. */
const ofStart = ["MINTYARD_LOCAL_CHAINS"];

test(".env.example names exactly the variables that are read", () => {
  const asked = new Set<string>();
  const chain = { DATABASE_URL: "postgres://x", RPC_URL_POLYGON: "http://x", FACTORY_POLYGON: `0x${"1".repeat(40)}` };
  const watched = (env: Record<string, string>) =>
    new Proxy(env, {
      get: (target, name: string) => {
        asked.add(name);
        return target[name];
      },
    });
  // Some are asked for only beside others.
  for (const more of [
    ...[
      { PINATA_JWT: "x" },
      { KUBO_RPC_URL: "http://x" },
      { IPFS_STORE: "s3://bucket" },
      { OTEL_EXPORTER_OTLP_ENDPOINT: "http://x" },
    ],
    { IPFS_STORE: "s3://bucket", AWS_ACCESS_KEY_ID: "x", AWS_SECRET_ACCESS_KEY: "x" },
    ...[{ SIGNER_URL: "http://127.0.0.1:1" }, { OPERATOR_POLYGON: `0x${"1".repeat(40)}` }],
  ])
    loadConfig(watched({ ...chain, ...more }));
  const tokens = { SIGNER_TOKEN: "x".repeat(32), SIGNER_ADMIN_TOKEN: "x".repeat(32) };
  loadSignerConfig(watched({ WEB3SIGNER_URL: "http://x", RELAYER_ADDRESS_POLYGON: `0x${"1".repeat(40)}`, ...tokens }));
  const example = readFileSync(new URL("../.env.example", import.meta.url), "utf8");
  const named = new Set([...example.matchAll(/^(?:# )?([A-Z][A-Z0-9_]*)=/gm)].map(([, name]) => name ?? ""));
  expect([...named].sort()).toEqual([...asked, ...ofStart].filter((name) => !internal.includes(name)).sort());
});

test("editors get the same settings as the formatter", () => {
  const file = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), "utf8");
  const { formatter } = JSON.parse(file("biome.json")) as { formatter: Record<string, string | number> };
  const [, all = ""] = /^\[\*\]\n([^[]*)/m.exec(file(".editorconfig")) ?? [];
  const settings = Object.fromEntries(
    all.split("\n").flatMap((line) => (line.includes(" = ") ? [line.split(" = ")] : [])),
  );
  expect(settings).toMatchObject({
    indent_style: formatter["indentStyle"],
    indent_size: String(formatter["indentWidth"]),
    max_line_length: String(formatter["lineWidth"]),
  });
});
