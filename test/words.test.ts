import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "..");

/** What was written once, and what is written now. */
const retired = {
  doors: [/\bdoors?\b/i, "API"],
  wishes: [/\bwish(es)?\b/i, "request"],
  handover: [/\bhand(ed)?[ -]?over\b/i, "request state"],
  believedSession: [/\bbelievedSession\b/, "cachedSession"],
  knownText: [/\bknownText\b/, "cachedStatement"],
  giveWay: [/\bgives? ?way\b/i, "lower priority"],
  markSeldom: [/\bmarkSeldom\b/, "tuneGc"],
  youngBuffers: [/\byoung ?buffers?\b/i, "minor collection"],
  seededDefects: [/\bhasDefect\b/, "a patch in test/chaos/mutants"],
} as const satisfies Record<string, readonly [RegExp, string]>;

function retiredIn(text: string): string[] {
  return text.split("\n").flatMap((line, at) =>
    Object.values(retired)
      .filter(([word]) => word.test(line))
      .map(([, now]) => `${at + 1}: ${line.trim()} (now: ${now})`),
  );
}

test("retired words stay out of src, bin, schema, indexer and the documents", () => {
  const folders = ["src", "bin", "schema", "indexer/src", "deploy", "docs"];
  const files = folders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name)),
    )
    // A migration that was released does not change.
    .filter((file) => !file.includes("/schema/migrations/"));
  for (const name of ["README.md", "CONTRIBUTING.md", ".env.example"]) files.push(join(root, name));
  expect(files.length).toBeGreaterThan(400);
  const found = files.flatMap((file) => retiredIn(readFileSync(file, "utf8")).map((line) => `${file}:${line}`));
  expect(found).toEqual([]);
});

test("a retired word is found in a name and in a sentence", () => {
  expect(retiredIn("const door = 1;\n/** Fulfils a wish. */\nfine")).toEqual([
    "1: const door = 1; (now: API)",
    "2: /** Fulfils a wish. */ (now: request)",
  ]);
});
