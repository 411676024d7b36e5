import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "..");

/**
 * The folders and files of `src/`, outermost first. Each may import what stands in the lines below its own, types
 * included, and nothing of its own line but itself. `docs/architecture.md` shows this table.
 */
const layers = `
embedded                                     the whole service on embedded parts
processes                                    the programs, and what they are built from
server                                       routes, pages, the fast path, health
reference                                    the page of the two APIs, and its examples
graphql rest                                 the two APIs
admission                                    whether a request may begin: keys, rates, load
products                                     use cases on contracts that the service mints in
accounts collections events transfers uploads  use cases
requests                                     what accounts ask the wallets for, of every kind
nfts                                         reads of tokens and contracts
services.ts                                  what a use case is given
indexing metadata transactions               chains: Ponder, documents of tokens, transactions
auth ipfs outbox                             keys, rates and audit; content and pinning; committed events
db outbound rpc                              PostgreSQL; servers of third parties; nodes
config                                       the environment
signing                                      keys and the rules of signing
chains.ts http rounds.ts thumbnails          networks; HTTP without knowledge of the product; loops; previews of pictures
long-work.ts slots.ts                        turns of the event loop for what takes long; a bounded number of works at a time
errors json telemetry backoff.ts buffer-pool.ts cache-bounds.ts compact-heap.ts endable-stream.ts fair-queue.ts free-port.ts read-at-most.ts setting-words.ts
`;

/** The same for the folders of `src/transactions/`. */
const transactionLayers = `
relay.ts                                     what a process knows of its wallets and factories
operator                                     commands: factory, roles, wallets
accept track                                 making a request durable; what the worker does until a transaction is final
submit                                       from an accepted request to signed bytes at a node
chain                                        what is read from nodes
store                                        the relay's tables, and what a process remembers
lifecycle.ts                                 states, edges, and the rules of every step that the chain decides: pure
`;

const useCases = ["accounts", "collections", "events", "nfts", "requests", "transfers", "uploads"];
const apis = ["admission", "graphql", "rest", "server"];
const drivers = ["auth", "db", "indexing", "ipfs", "metadata", "outbox", "rpc", "signing", "transactions"];

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
  const found: Import[] = [];
  const add = (specifier: ts.Expression | undefined, typeOnly: boolean) => {
    if (specifier && ts.isStringLiteral(specifier) && specifier.text.startsWith("."))
      found.push({ from: file, to: relative(root, join(root, dirname(file), specifier.text)), typeOnly });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node))
      add(node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword);
    if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, node.isTypeOnly);
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      add(node.arguments[0], false);
    ts.forEachChild(node, visit);
  };
  visit(parse(file));
  return found;
}

/** By folder or file: the number of its line, from the outermost. */
function lineOf(table: string): Map<string, number> {
  const lines = table.trim().split("\n");
  return new Map(
    lines.flatMap((line, at) => (line.split(/ {2,}/)[0] ?? "").split(" ").map((name) => [name, at] as const)),
  );
}

/** Imports among the files below `base` that point up in its table, or sideways. */
function pointingUp(base: string, table: string): string[] {
  const lines = lineOf(table);
  const nameOf = (file: string) => file.slice(base.length).split("/")[0] ?? "";
  return all
    .filter(({ from, to }) => from.startsWith(base) && to.startsWith(base) && nameOf(from) !== nameOf(to))
    .filter(({ from, to }) => (lines.get(nameOf(from)) ?? Infinity) >= (lines.get(nameOf(to)) ?? -1))
    .map(({ from, to }) => `${from} imports ${to}`);
}

const own = ["src", "indexer", "schema"].flatMap(sources);
const all = own.flatMap(importsOf);

test("every file of src/ stands in the table, and imports point down in it, types included", () => {
  expect([...lineOf(layers).keys()].sort()).toEqual(readdirSync(join(root, "src")).sort());
  expect(pointingUp("src/", layers)).toEqual([]);
});

test("transactions/ has five folders, and imports point down among them", () => {
  const entries = readdirSync(join(root, "src/transactions")).filter((name) => name !== "README.md");
  expect([...lineOf(transactionLayers).keys()].sort()).toEqual(entries.sort());
  expect(pointingUp("src/transactions/", transactionLayers)).toEqual([]);
});

test("docs/architecture.md shows these tables", () => {
  const text = readFileSync(join(root, "docs/architecture.md"), "utf8");
  for (const table of [layers, transactionLayers]) expect(text).toContain(`\`\`\`${table}\`\`\``);
});

test("the APIs see neither SQL, chains' RPC nor IPFS", () => {
  const outside = ["kysely", "pg", "viem/actions", "ipfs-unixfs-importer", "@ipld/car"];
  const wrong = [...apis.map((name) => `src/${name}`), "src/http"].flatMap(sources).flatMap((file) => {
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
      // It prints a reader's program that reads its key.
      file !== "src/reference/example.ts" &&
      readFileSync(join(root, file), "utf8").includes("process.env"),
  );
  expect(wrong).toEqual([]);
});

test("no file is part of a circle of imports, types included", () => {
  const edges = Map.groupBy(all, ({ from }) => from);
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
    "src/indexing/ponder-guards.ts",
    "src/thumbnails/picture-process.ts",
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

/** pg keeps its type parsers in a global of its own; one file sets them for whoever imports it. */
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
