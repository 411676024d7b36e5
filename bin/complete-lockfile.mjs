// Adds the entries that `npm install` leaves out of package-lock.json when its registry lacked some platform's build of
// an optional package. Without them `npm ci` refuses the file on every machine ("Missing: … from lock file").
//
// npm runs this after each install (script `dependencies` of package.json). The bootstrap runs it before `npm ci`, for
// a file that came incomplete from elsewhere.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const systems = ["android", "darwin", "freebsd", "linux", "openbsd", "openharmony", "win32"];
const ownFile = fileURLToPath(new URL("../package-lock.json", import.meta.url));

/**
 * Completes the file in place. A file that is complete or read-only stays as it is.
 *
 * @returns the packages that were added, as `name@version`.
 * @throws Error when the name of a missing package has no platform in it.
 */
export function completeLockfile(file = ownFile) {
  const lock = JSON.parse(readFileSync(file, "utf8"));
  const added = addMissing(lock.packages);
  if (added.length === 0) return [];
  // In npm's own order.
  const inOrder = Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, "en"));
  lock.packages = Object.fromEntries(inOrder);
  try {
    writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
  } catch (error) {
    // `npm ci` will then report what is missing.
    if (["EACCES", "EPERM", "EROFS"].includes(error.code)) return [];
    throw error;
  }
  return added;
}

function addMissing(packages) {
  const added = [];
  for (const [parent, entry] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      const found = findPackage(packages, parent, name);
      // Platform packages are required by exact version; of two versions, one is nested deeper.
      const exact = /^\d/.test(version) && platformOf(name);
      if (found && (!exact || packages[found].version === version)) continue;
      const beside = `${folderAbove(parent)}node_modules/${name}`;
      packages[packages[beside] ? `${parent}/node_modules/${name}` : beside] = platformEntry(name, version);
      added.push(`${name}@${version}`);
    }
  }
  return added;
}

/** Where Node would find a package from another package's folder. */
export function findPackage(packages, parent, name) {
  for (let from = parent && `${parent}/`; ; from = folderAbove(from.slice(0, -1))) {
    if (packages[`${from}node_modules/${name}`]) return `${from}node_modules/${name}`;
    if (from === "") return undefined;
  }
}

/** `node_modules/a/` for `node_modules/a/node_modules/b`; empty for the project's own packages. */
function folderAbove(path) {
  const at = path.lastIndexOf("/node_modules/");
  return at < 0 ? "" : path.slice(0, at + 1);
}

/** `["linux", "arm64", "musl"]` for `edr-linux-arm64-musl`; undefined for a name without a platform. */
function platformOf(name) {
  const words = name.split("/").at(-1).split("-");
  const at = words.findIndex((word) => systems.includes(word));
  return at < 0 ? undefined : words.slice(at);
}

/** Without integrity: npm takes it from the registry of the machine that needs the package. */
function platformEntry(name, version) {
  const platform = platformOf(name);
  if (!platform)
    throw new Error(`package-lock.json lacks ${name}, and its name tells no platform; add its entry by hand`);
  const [os, cpu, abi] = platform;
  return {
    version,
    cpu: [cpu],
    ...(os === "linux" ? { libc: [abi?.startsWith("musl") ? "musl" : "glibc"] } : {}),
    optional: true,
    os: [os],
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const added = completeLockfile();
  if (added.length > 0) console.log(`package-lock.json: added ${added.join(", ")}`);
}
