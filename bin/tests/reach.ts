import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { root } from "./tiers.ts";

/** These check the whole tree, so any change reaches them. */
const always = ["test/architecture.test.ts", "test/drift.test.ts", "test/tiers.test.ts", "test/docs-commands.test.ts"];
/** A change to one of these can change every result. */
const everything =
  /^(package(-lock)?\.json|tsconfig\.json|vitest\.config\.ts|bin\/bootstrap\.mjs|test\/setup\/global\.ts)$/;

/** Files that differ from a commit, and files that git does not track yet; paths from the root. */
export function changedFiles(since: string): string[] {
  return [...new Set([...git("diff", "--name-only", since), ...git("ls-files", "--others", "--exclude-standard")])];
}

/**
 * The test files that a change can affect: through imports, and through every string in a file that names another file
 * or folder of the repository. Tests start programs and read documents by such names, which an import graph would miss.
 *
 * @param changed and @param testFiles paths from the root.
 */
export function testsReachedBy(changed: readonly string[], testFiles: readonly string[]): string[] {
  if (changed.some((file) => everything.test(file))) return [...testFiles];
  const namedBy = readNames();
  const reached = new Set(changed);
  // The set grows while it is iterated: files that name an affected file are affected too.
  for (const file of reached) for (const by of namedBy.get(file) ?? []) reached.add(by);
  return testFiles.filter((file) => always.includes(file) || reached.has(file));
}

/** For each file, the files that name it. */
function readNames(): Map<string, Set<string>> {
  const files = git("ls-files", "--cached", "--others", "--exclude-standard").filter((file) =>
    existsSync(join(root, file)),
  );
  const inFolder = new Map<string, string[]>();
  for (const file of files)
    for (let folder = dirname(file); folder !== "."; folder = dirname(folder))
      inFolder.set(folder, [...(inFolder.get(folder) ?? []), file]);
  const known = new Set(files);
  const namedBy = new Map<string, Set<string>>();
  for (const file of files.filter((one) => /\.(ts|mjs|sol)$/.test(one))) {
    for (const name of stringsOf(readFileSync(join(root, file), "utf8"))) {
      for (const path of [normalize(join(dirname(file), name)), normalize(name)].map((one) => one.replace(/\/$/, ""))) {
        // A folder that contains the file itself says nothing: `join(import.meta.dirname, "../..")` is just the root.
        const named = known.has(path) ? [path] : file.startsWith(`${path}/`) ? [] : (inFolder.get(path) ?? []);
        for (const one of named) namedBy.set(one, (namedBy.get(one) ?? new Set()).add(file));
      }
    }
  }
  return namedBy;
}

/** Strings that look like a file path, but not like a URL's. Those in comments cost at most a needless test. */
function stringsOf(text: string): string[] {
  return [...text.matchAll(/["'`](?!\/)([\w@./-]*[./][\w@./-]*)["'`]/g)].map(([, name = ""]) => name);
}

function git(...args: string[]): string[] {
  return execFileSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 1 << 26 })
    .split("\n")
    .filter(Boolean);
}
