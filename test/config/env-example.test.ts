import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { loadSignerConfig } from "../../src/signing/signer-config.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const root = join(import.meta.dirname, "../..");

interface Variable {
  name: string;
  value: string;
  unit: string;
  fallback: string;
  example: string;
}

/** Each variable with what the comment above it says in brackets: unit; default; example. */
function readVariables(): Variable[] {
  const lines = readFileSync(join(root, ".env.example"), "utf8").split("\n");
  return lines.flatMap((line, at) => {
    const [, name, value = ""] = /^(?:# )?([A-Z][A-Z0-9_]*)=(.*)$/.exec(line) ?? [];
    if (!name) return [];
    const [, unit = "", fallback = "", example = ""] =
      /\[([^;[\]]+); ([^;[\]]+); ([^;[\]]+)\]$/.exec(lines[at - 1] ?? "") ?? [];
    return [{ name, value, unit, fallback, example }];
  });
}
const variables = readVariables();

const database = "postgres://mintyard@127.0.0.1/mintyard";
const key = `0x${"1".repeat(64)}`;
const keyFile = join(temporaryFolder(), "key");
beforeAll(() => writeFileSync(keyFile, key));
const chain = {
  RPC_URL_POLYGON: "https://one.example,https://two.example",
  FACTORY_POLYGON: `0x${"2".repeat(40)}`,
};
/** What has to stand beside a variable, so that it is looked at. */
const beside: readonly [RegExp, Record<string, string>][] = [
  [/^PINATA_/, { PINATA_JWT: "a.b.c" }],
  [/^KUBO_/, { KUBO_RPC_URL: "http://127.0.0.1:1" }],
  [/^(AWS_|IPFS_(S3|CACHE)_)/, { IPFS_STORE: "s3://bucket", AWS_ACCESS_KEY_ID: "x", AWS_SECRET_ACCESS_KEY: "x" }],
  [/^OTEL_/, { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" }],
  [/^NODE_ENV$/, { KEY_PEPPER: "x" }],
  [/^RELAYER_KEYSTORE/, { RELAYER_KEYSTORE_POLYGON: "/key.json", RELAYER_KEYSTORE_PASSWORD_FILE_POLYGON: "/password" }],
  [/^(RELAYER_ADDRESS|SIGNER_(ADMIN_)?TOKEN)/, { SIGNER_URL: "http://127.0.0.1:1" }],
  [/^(OPERATOR_BLOCK|EASY_CONTRACT)/, { OPERATOR_POLYGON: `0x${"4".repeat(40)}` }],
  [/^WEB3SIGNER_/, { WEB3SIGNER_URL: "http://127.0.0.1:1" }],
];
const around = (name: string) => {
  const more = beside.flatMap(([pattern, env]) => (pattern.test(name) ? [env] : []));
  return Object.assign({ DATABASE_URL: database, ...chain }, ...more) as Record<string, string>;
};
const signer = {
  RELAYER_KEY_POLYGON: key,
  FACTORY_POLYGON: chain.FACTORY_POLYGON,
  SIGNER_TOKEN: "x".repeat(32),
  SIGNER_ADMIN_TOKEN: "x".repeat(32),
};
/** Read by the signer's process alone. */
const ofSigner = /^(SIGNER_LISTEN|SIGNER_SOCKET_MODE|SIGNER_DAY_POLYGON|(FACTORIES|OPERATORS)_BEFORE_POLYGON)$/;
/** Read before there is a configuration, by `npm start`. */
const ofStart = /^MINTYARD_LOCAL_CHAINS$/;
const load = (name: string, change: Record<string, string>) =>
  ofSigner.test(name) ? loadSignerConfig({ ...signer, ...change }) : loadConfig({ ...around(name), ...change });

test("every variable has a unit, a default and an example", () => {
  expect(variables.length).toBeGreaterThan(95);
  expect(
    variables.filter(({ unit, fallback, example }) => !unit || !fallback || !example).map(({ name }) => name),
  ).toEqual([]);
  expect(new Set(variables.map(({ name }) => name)).size).toBe(variables.length);
});

test("the value that stands there is the documented default", () => {
  const isOpen = (fallback: string) => fallback === "none" || fallback.startsWith("(");
  const wrong = variables.filter(({ value, fallback }) => value !== (isOpen(fallback) ? "" : fallback));
  expect(wrong).toEqual([]);
});

test("the documented defaults are those of the code", () => {
  for (const { name, value, fallback } of variables) {
    if (ofStart.test(name)) continue;
    const documented =
      value || /(\S+) for POLYGON/.exec(fallback)?.[1]?.replace("(", "") || /^\((true|false) for/.exec("")?.[1];
    if (!documented) continue;
    const without = around(name);
    delete without[name];
    if (ofSigner.test(name)) expect([name, load(name, { [name]: documented })]).toEqual([name, load(name, {})]);
    else expect([name, loadConfig({ ...without, [name]: documented })]).toEqual([name, loadConfig(without)]);
  }
  // The file as it stands changes nothing.
  const active = Object.fromEntries(
    readFileSync(join(root, ".env.example"), "utf8")
      .split("\n")
      .flatMap((line) => (/^[A-Z]/.test(line) ? [line.split("=", 2) as [string, string]] : [])),
  );
  expect(loadConfig({ ...active, DATABASE_URL: database })).toEqual(loadConfig({ DATABASE_URL: database }));
});

test("each example is accepted, and differs from the default", () => {
  for (const { name, example } of variables) {
    if (ofStart.test(name)) continue;
    const value = name === "RELAYER_KEY_FILE_POLYGON" ? keyFile : example;
    const without = around(name);
    delete without[name];
    // What makes the others looked at is compared with its own absence elsewhere.
    if (without["RELAYER_KEYSTORE_POLYGON"] && name.includes("PASSWORD")) without[name] = "/password";
    // One of the two alone is refused.
    if (/^AWS_(ACCESS_KEY_ID|SECRET_ACCESS_KEY)$/.test(name)) without[name] = "another";
    const base = ofSigner.test(name) ? load(name, {}) : loadConfig(name === "DATABASE_URL" ? around(name) : without);
    expect([name, load(name, { [name]: value })]).not.toEqual([name, base]);
  }
});

test("no program reads a variable that is not there", () => {
  const named = new Set(variables.map(({ name }) => name.replace(/_POLYGON$/, "_*")));
  /** Set by our own processes for their children, or by the system. */
  const internal = [
    "LOCAL_*",
    "MINTYARD_TEST_SLOWNESS",
    "MINTYARD_PONDER",
    "MINTYARD_CHAOS_CRASH",
    "PATH",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
  ];
  /** Of clients of a service: `mintyard launch`, `mintyard events`. */
  const clients = ["MINTYARD_KEY"];
  const files = execFileSync("git", ["ls-files", "src", "bin", "indexer", "ponder.config.ts", "deploy"], {
    cwd: root,
    encoding: "utf8",
  })
    .split("\n")
    .filter(
      (file) => /\.(ts|mjs)$/.test(file) && !/^bin\/(tests\/|run-tests|demo|bootstrap|complete|end-with)/.test(file),
    );
  const read = files.flatMap((file) =>
    [
      ...readFileSync(join(root, file), "utf8").matchAll(
        /\b(?:process\.env|env)(?:\[["`]|\.)([A-Z][A-Z0-9_]{2,}(?:\$\{[^}]*\})?)|\bread\w*(?:<[^(]*>)?\(\s*env, ["`]([A-Z][A-Z0-9_]+(?:\$\{[^}]*\})?)/g,
      ),
    ].map(([, one, other]) => (one ?? other ?? "").replace(/\$\{.*$/, "*")),
  );
  expect(read.length).toBeGreaterThan(90);
  // The logins of processes are read by the process's name.
  const known = (name: string) =>
    named.has(name) || [...internal, ...clients].includes(name) || name === "DATABASE_URL_*";
  expect([...new Set(read)].filter((name) => !known(name))).toEqual([]);
});
