import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { alone, listTestFiles, root, tierOf } from "../bin/tests/tiers.ts";

/** When a file defines tests: while it is loaded, or only in a function that others call. */
type Defines = "on load" | "on call" | null;

interface Inspected {
  defines: Defines;
  /** Files that it imports, from the root. */
  imports: string[];
}

function inspect(file: string, text: string): Inspected {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const names = new Set<string>();
  const imports: string[] = [];
  for (const statement of source.statements) {
    if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier)) continue;
    const from = statement.moduleSpecifier.text;
    if (from === "vitest") for (const name of definersIn(statement)) names.add(name);
    if (from.startsWith(".")) imports.push(join(dirname(file), from));
  }
  const calls: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && names.has(rootOf(node.expression))) calls.push(node);
    ts.forEachChild(node, visit);
  };
  visit(source);
  if (calls.length === 0) return { defines: null, imports };
  return { defines: calls.some((call) => !ts.findAncestor(call, waitsForCall)) ? "on load" : "on call", imports };
}

/** The names under which a file imports what defines tests. */
function definersIn({ importClause }: ts.ImportDeclaration): string[] {
  const bindings = importClause?.namedBindings;
  if (!bindings || !ts.isNamedImports(bindings)) return [];
  return bindings.elements
    .filter(({ name, propertyName }) => ["test", "it", "describe", "suite"].includes((propertyName ?? name).text))
    .map(({ name }) => name.text);
}

/** `test` of `test.each(cases)`, also where that is called in its turn. */
function rootOf(expression: ts.Expression): string {
  if (ts.isIdentifier(expression)) return expression.text;
  if (ts.isTaggedTemplateExpression(expression)) return rootOf(expression.tag);
  const chained = ts.isCallExpression(expression) || ts.isPropertyAccessExpression(expression);
  return chained ? rootOf(expression.expression) : "";
}

/** A callback, such as that of `describe`, runs with the call that it is passed to. */
function waitsForCall(node: ts.Node): boolean {
  if (ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node)) return true;
  return (ts.isArrowFunction(node) || ts.isFunctionExpression(node)) && !ts.isCallExpression(node.parent);
}

test("every file that defines tests belongs to a tier, or is a suite that a test file imports", () => {
  const inspected = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.[cm]?[jt]sx?$/.test(name))
    .map((name) => `test/${name}`)
    .map((file) => ({ file, tier: tierOf(file), ...inspect(file, readFileSync(join(root, file), "utf8")) }));
  const ofTests = new Set(inspected.filter(({ tier }) => tier !== null).flatMap(({ imports }) => imports));
  const stray = inspected
    .filter(({ tier, defines }) => tier === null && defines !== null)
    .filter(({ file, defines }) => defines === "on load" || !ofTests.has(file));
  expect(stray.map(({ file }) => file)).toEqual([]);
  const empty = inspected.filter(({ tier, defines }) => tier !== null && defines === null);
  expect(empty.map(({ file }) => file)).toEqual([]);
});

test.each<[what: string, text: string, defines: Defines]>([
  ["a test", 'import { test } from "vitest"; test("x", () => {});', "on load"],
  ["a test in a suite", 'import { describe, it as check } from "vitest"; describe("x", () => check("y"));', "on load"],
  ["cases", 'import { test } from "vitest"; test.concurrent.each([1])("%i", () => {});', "on load"],
  ["a function", 'import { test } from "vitest"; export function suite() { test("x", () => {}); }', "on call"],
  ["an arrow function", 'import { test } from "vitest"; export const suite = () => test("x", () => {});', "on call"],
  ["a regular expression", 'import { expect } from "vitest"; expect(/x/.test("x")).toBe(true);', null],
])("%s is told apart", (_what, text, defines) => {
  expect(inspect("test/x.ts", text).defines).toBe(defines);
});

test("files that run alone are files of the long tier", () => {
  const long = listTestFiles().filter((file) => tierOf(file) === "long");
  expect(alone.filter((file) => !long.includes(file))).toEqual([]);
});
