import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { root } from "./tiers.ts";

/** They look at the whole tree, so any change reaches them. */
const always = ["test/architecture.test.ts", "test/drift.test.ts", "test/tiers.test.ts"];
/** A change of these can change every result. */
const everything =
  /^(package(-lock)?\.json|tsconfig\.json|vitest\.config\.ts|bin\/bootstrap\.mjs|test\/setup\/global\.ts)$/;

/**
 * The test files that a change can reach: over imports, and over every string in a file that names another file or
 * folder of the repository. Tests start programs and read documents by such names, which a graph of imports misses.
 *
 * @param since a commit; what differs from it counts, and files that git does not know yet.
 */
export function testsReachedBy(since: string, testFiles: readonly string[]): string[] {
  const changed = changedFiles(since);
  if (changed.some((file) => everything.test(file))) return [...testFiles];
  const touched = new Set(changed);
  const reach = new Map<string, boolean>();
  const reaches = (file: string, trail: Set<string>): boolean => {
    const known = reach.get(file);
    if (known !== undefined) return known;
    if (touched.has(file)) return true;
    if (trail.has(file)) return false;
    trail.add(file);
    return namesIn(file).some((name) => reaches(name, trail));
  };
  return testFiles.filter((file) => {
    // Each test has a trail of its own: within a circle the answer depends on where one came in.
    const reached = always.includes(file) || reaches(file, new Set());
    reach.set(file, reached);
    return reached;
  });
}

function changedFiles(since: string): string[] {
  const git = (...args: string[]) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).split("\n");
  const listed = [...git("diff", "--name-only", since), ...git("ls-files", "--others", "--exclude-standard")];
  return [...new Set(listed.filter(Boolean))];
}

const known = new Map<string, string[]>();

/** Files that a file names, by paths from its own folder or from the root. */
function namesIn(file: string): string[] {
  const before = known.get(file);
  if (before) return before;
  const found = new Set<string>();
  const text = /\.(ts|mjs|js|sol)$/.test(file) ? readFileSync(join(root, file), "utf8") : "";
  for (const [, name = ""] of text.matchAll(/["'`]([\w@./-]*[./][\w@./-]*)["'`]/g)) {
    for (const base of [dirname(join(root, file)), root]) {
      const path = join(base, name);
      // A folder that the file itself lies in says nothing: `join(import.meta.dirname, "../..")` is just the root.
      if (!path.startsWith(`${root}/`) || join(root, file).startsWith(`${path}/`) || !existsSync(path)) continue;
      for (const one of filesAt(path)) found.add(one);
    }
  }
  known.set(file, [...found]);
  return [...found];
}

function filesAt(path: string): string[] {
  if (/(^|\/)(node_modules|\.git|\.runtime)(\/|$)/.test(relative(root, path))) return [];
  if (!statSync(path).isDirectory()) return [relative(root, path)];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}
