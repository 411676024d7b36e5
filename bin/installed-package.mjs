// Where the package runs when npm installed it: in a copy below the user's cache folder, where bootstrap.mjs installs the
// packages that its lock file names. Node reads no TypeScript below a folder `node_modules`, and npm takes neither
// versions nor `overrides` from the lock file of a package that it installs.
import { randomUUID } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** What a package calls the files that npm would not pack, or not as they are, and their names in the copy. */
export const packedNames = { "npm-manifest.json": "package.json", "npm-lock.json": "package-lock.json" };
/** A file of the package: its version, and a hash of what is in it. */
export const buildIdFile = "build-id";

/**
 * The folder to run the program in: the root itself in a checkout, the copy of an installed package, which is made when it
 * is not there.
 */
export function programFolder(root) {
  if (!existsSync(join(root, buildIdFile))) return root;
  const folder = join(cacheFolder(), readFileSync(join(root, buildIdFile), "utf8").trim());
  if (existsSync(folder)) return folder;
  // Under another name until it is whole: another command may start meanwhile, and this one may be killed.
  const part = `${folder}.${randomUUID()}.part`;
  mkdirSync(part, { recursive: true });
  const left = [...Object.values(packedNames), buildIdFile, "node_modules"].map((name) => join(root, name));
  cpSync(root, part, { recursive: true, filter: (source) => !left.includes(source) });
  for (const [packed, name] of Object.entries(packedNames)) renameSync(join(part, packed), join(part, name));
  try {
    renameSync(part, folder);
  } catch (error) {
    rmSync(part, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

function cacheFolder() {
  const base = process.platform === "darwin" ? "Library/Caches" : ".cache";
  return join(process.env.XDG_CACHE_HOME || join(homedir(), base), "mintyard");
}
