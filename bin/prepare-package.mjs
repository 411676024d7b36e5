// Files that `npm pack` needs in addition to the repository's (scripts `prepack` and `postpack` of package.json). The
// program installs its own packages when it first runs (installed-package.mjs has the reasons), so npm must see none:
//   package.json       without dependencies and scripts, while it is packed
//   npm-manifest.json  package.json without development packages
//   npm-lock.json      package-lock.json without development packages
//   build-id           version and hash: another build is another program, even under the same version
// `postpack` restores package.json and removes the others.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { completeLockfile, findPackage } from "./complete-lockfile.mjs";
import { buildIdFile, packedNames } from "./installed-package.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const inRoot = (name) => join(root, name);
/** Ponder loads vite-tsconfig-paths, which imports vite but calls it optional; in the repository vitest brings it. */
const peers = ["vite"];
const kept = inRoot("package.json.kept");

if (process.argv[2] === "--remove") {
  putBack();
} else {
  // Cleans up after a run that was killed.
  putBack();
  prepare();
}

function putBack() {
  if (existsSync(kept)) renameSync(kept, inRoot("package.json"));
  for (const name of [...Object.keys(packedNames), buildIdFile]) rmSync(inRoot(name), { force: true });
}

function prepare() {
  completeLockfile();
  const text = readFileSync(inRoot("package.json"), "utf8");
  const { scripts: _scripts, files, devDependencies: _developers, ...manifest } = JSON.parse(text);
  const { dependencies: _running, overrides: _overrides, allowScripts: _allowed, ...shown } = manifest;
  const lock = JSON.parse(readFileSync(inRoot("package-lock.json"), "utf8"));
  for (const name of peers) manifest.dependencies[name] = lock.packages[`node_modules/${name}`].version;
  const { devDependencies: _, ...own } = lock.packages[""];
  const running = reachable({ ...lock.packages, "": { ...own, dependencies: manifest.dependencies } });
  lock.packages = Object.fromEntries(running);
  write("npm-manifest.json", manifest);
  write("npm-lock.json", lock);
  writeFileSync(
    inRoot(buildIdFile),
    `${manifest.version}-${hashOf(["npm-manifest.json", "npm-lock.json", ...files])}\n`,
  );
  writeFileSync(kept, text);
  write("package.json", { ...shown, files, engines: { node: ">=18" } });
}

/** The entries that the root entry depends on, directly or not. */
function reachable(packages) {
  const reached = new Set([""]);
  for (const path of reached) {
    const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = packages[path];
    const needed = Object.keys(peerDependencies ?? {}).filter((name) => !peerDependenciesMeta?.[name]?.optional);
    for (const name of [...needed, ...Object.keys({ ...dependencies, ...optionalDependencies })]) {
      const found = findPackage(packages, path, name);
      if (found) reached.add(found);
    }
  }
  const entries = Object.entries(packages).filter(([path]) => reached.has(path));
  return entries.map(([path, { dev: _, devOptional: _either, ...entry }]) => [path, entry]);
}

function write(name, value) {
  writeFileSync(inRoot(name), `${JSON.stringify(value, null, 2)}\n`);
}

function hashOf(names) {
  const hash = createHash("sha256");
  for (const name of names.filter((one) => existsSync(inRoot(one)) && one !== buildIdFile))
    for (const file of filesOf(name)) hash.update(`${file}\0`).update(readFileSync(inRoot(file)));
  return hash.digest("hex").slice(0, 12);
}

function filesOf(name) {
  const entries = readdirSync(inRoot("."), { withFileTypes: true }).filter((entry) => entry.name === name);
  if (entries[0]?.isFile()) return [name];
  return readdirSync(inRoot(name), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
    .sort();
}
