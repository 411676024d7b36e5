import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "..");

const useCases = ["accounts", "collections", "nfts", "transfers", "uploads"];
const drivers = ["auth", "db", "indexing", "ipfs", "metadata", "relay", "rpc", "signing"];
const base = [
  "backoff.ts",
  "cache-bounds.ts",
  "chains.ts",
  "compact-heap.ts",
  "config.ts",
  "config-chains.ts",
  "config-signing.ts",
  "config-values.ts",
  "error-guide.ts",
  "explain-failure.ts",
  "errors.ts",
  "fair-queue.ts",
  "free-port.ts",
  "give-way.ts",
  "log.ts",
  "log-once.ts",
  "log-output.ts",
  "json-text.ts",
  "measure-json.ts",
  "services.ts",
  "telemetry",
  "unavailable.ts",
];

/** The layers of `src/`, outermost first; each may import its own and those below it. */
const layers: readonly { name: string; holds: readonly string[] }[] = [
  { name: "processes", holds: ["api.ts", "worker.ts", "indexer.ts", "processes", "process-life.ts", "embedded"] },
  { name: "doors", holds: ["http", "v0", "graphql"] },
  { name: "use cases", holds: useCases },
  { name: "drivers", holds: [...drivers, ...base] },
];

interface Import {
  from: string;
  to: string;
  typeOnly: boolean;
}

function sources(folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `${folder}/${name}`);
}

function parse(file: string): ts.SourceFile {
  return ts.createSourceFile(file, readFileSync(join(root, file), "utf8"), ts.ScriptTarget.Latest, true);
}

function importsOf(file: string): Import[] {
  return parse(file).statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
    const specifier = statement.moduleSpecifier;
    if (!specifier || !ts.isStringLiteral(specifier) || !specifier.text.startsWith(".")) return [];
    const typeOnly = ts.isImportDeclaration(statement)
      ? statement.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword
      : statement.isTypeOnly;
    return [{ from: file, to: relative(root, join(root, dirname(file), specifier.text)), typeOnly }];
  });
}

const layerOf = (file: string) => layers.findIndex((layer) => layer.holds.includes(file.split("/")[1] ?? ""));
const own = ["src", "indexer", "schema"].flatMap(sources);
const all = own.flatMap(importsOf);

test("every file of src/ belongs to a layer", () => {
  expect(sources("src").filter((file) => layerOf(file) < 0)).toEqual([]);
});

test("imports in src/ point inwards: processes, doors, use cases, drivers", () => {
  const wrong = all.filter(
    ({ from, to }) => from.startsWith("src/") && to.startsWith("src/") && layerOf(to) < layerOf(from),
  );
  expect(wrong).toEqual([]);
});

test("doors see neither SQL, chains' RPC nor IPFS", () => {
  const outside = ["kysely", "pg", "viem/actions", "ipfs-unixfs-importer", "@ipld/car"];
  const wrong = ["src/v0", "src/graphql", "src/http"].flatMap(sources).flatMap((file) => {
    const text = readFileSync(join(root, file), "utf8");
    const packages = outside.filter((name) => text.includes(`from "${name}"`));
    const local = importsOf(file).filter(
      ({ to, typeOnly }) => !typeOnly && drivers.includes(to.split("/")[1] ?? "") && to.startsWith("src/"),
    );
    return [...packages, ...local.map(({ to }) => to)].map((what) => `${file} imports ${what}`);
  });
  expect(wrong).toEqual([]);
});

test("use cases know nothing of HTTP", () => {
  const words = ["hono", "@hono/node-server", "graphql", "graphql-yoga", "node:http"];
  const wrong = useCases
    .map((name) => `src/${name}`)
    .flatMap(sources)
    .flatMap((file) => {
      const text = readFileSync(join(root, file), "utf8");
      return words.filter((name) => text.includes(`from "${name}"`)).map((name) => `${file} imports ${name}`);
    });
  expect(wrong).toEqual([]);
});

test("the indexer sees only schema/ and contracts/abi", () => {
  const wrong = all.filter(
    ({ from, to }) => from.startsWith("indexer/src") && !/^(indexer|schema|contracts\/abi)\//.test(to),
  );
  expect(wrong).toEqual([]);
});

test("the environment is read in one place", () => {
  const wrong = sources("src").filter(
    (file) =>
      file !== "src/config/config.ts" &&
      // Of the signer's process, which loads nothing else of the service.
      file !== "src/signing/signer-config.ts" &&
      !file.startsWith("src/embedded/") &&
      // It writes Ponder's.
      file !== "src/indexing/ponder-host.ts" &&
      readFileSync(join(root, file), "utf8").includes("process.env"),
  );
  expect(wrong).toEqual([]);
});

test("no file is a circle's part", () => {
  const edges = Map.groupBy(
    all.filter(({ typeOnly }) => !typeOnly),
    ({ from }) => from,
  );
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, trail: string[]): void => {
    if (trail.includes(file)) circles.push([...trail.slice(trail.indexOf(file)), file].join(" → "));
    if (done.has(file) || trail.includes(file)) return;
    for (const { to } of edges.get(file) ?? []) visit(to, [...trail, file]);
    done.add(file);
  };
  for (const file of own) visit(file, []);
  expect(circles).toEqual([]);
});

test("only processes and commands have effects on import", () => {
  // Those of `indexing` are Ponder's process and what is loaded into it before Ponder; the last is a thread.
  const entries = [
    "src/processes/api.ts",
    "src/processes/worker.ts",
    "src/processes/indexer.ts",
    "src/processes/signer.ts",
    "src/embedded/program-host.ts",
    "src/embedded/chain-setup-process.ts",
    "src/indexing/ponder-host.ts",
    "src/indexing/leave-with-database.ts",
    "src/indexing/leave-with-parent.ts",
    "src/collections/allowlist-thread.ts",
  ];
  const wrong = sources("src")
    .filter((file) => !entries.includes(file))
    .flatMap((file) =>
      parse(file)
        .statements.filter((statement) => ts.isExpressionStatement(statement) && !isTypeParserSetup(statement))
        .map((statement) => `${file}: ${statement.getText().slice(0, 60)}`),
    );
  expect(wrong).toEqual([]);
});

/** pg keeps its type parsers in a global of its own; the pool's file sets them for whoever imports it. */
function isTypeParserSetup(statement: ts.Statement): boolean {
  return statement.getText().startsWith("pg.types.setTypeParser(");
}

test("every library that is installed for running is used by what runs", () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  const running = [...own, ...sources("bin"), "ponder.config.ts"].map((file) => readFileSync(join(root, file), "utf8"));
  const unused = Object.keys(dependencies).filter(
    (name) => !running.some((text) => text.includes(`"${name}"`) || text.includes(`"${name}/`)),
  );
  expect(unused).toEqual([]);
});

/** Expressions that make a number grow from one try to the next: `2 ** tries`, `pauseMs *= 2`, `Math.min(pauseMs * 2, …)`. */
function growths(file: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (isPower(node) || isOwnMultiple(node) || isBoundedMultiple(node)) found.push(`${file}: ${node.getText()}`);
    ts.forEachChild(node, visit);
  };
  visit(parse(file));
  return found;
}

function isPower(node: ts.Node): boolean {
  if (ts.isCallExpression(node)) return node.expression.getText() === "Math.pow";
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.AsteriskAsteriskToken) return false;
  // Amounts and digits are bigint, pauses are not.
  return !ts.isNumericLiteral(node.right) && !ts.isBigIntLiteral(node.left);
}

function isOwnMultiple(node: ts.Node): boolean {
  return ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.AsteriskEqualsToken;
}

function isBoundedMultiple(node: ts.Node): boolean {
  if (!ts.isCallExpression(node) || node.expression.getText() !== "Math.min") return false;
  return /(?:ms|delay|pause|wait)[\s\w?)]*\* \d/i.test(node.arguments.map((argument) => argument.getText()).join());
}

test("pauses grow in one place", () => {
  const wrong = [...sources("src"), ...sources("bin")]
    .filter((file) => file !== "src/backoff.ts")
    .flatMap(growths)
    // The bits of a number of variable length.
    .filter((found) => !found.startsWith("src/ipfs/import-car.ts: "));
  expect(wrong).toEqual([]);
});

test("work is claimed in one place", () => {
  // They delete or empty rows in the statement that finds them, and nobody holds one afterwards.
  const notClaims = ["src/collections/clear-expired.ts", "src/metadata/discover/apply-looks.ts"];
  const wrong = [...sources("src"), ...sources("bin")].filter(
    (file) =>
      file !== "src/db/lease.ts" &&
      !notClaims.includes(file) &&
      /skip\s+locked|skipLocked\(/i.test(readFileSync(join(root, file), "utf8")),
  );
  expect(wrong).toEqual([]);
});
