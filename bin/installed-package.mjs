// Where the package runs when npm installed it: in a copy below the user's cache folder, where bootstrap.mjs installs
// the packages of its lock file. It cannot run where npm put it: Node does not load TypeScript below `node_modules`,
// and npm applies neither versions nor `overrides` from an installed package's lock file.
import { randomUUID } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Names in the package of files that npm would not pack, or would change, with their names in the copy. */
export const packedNames = { "npm-manifest.json": "package.json", "npm-lock.json": "package-lock.json" };
/** A file of the package with its version and a hash of its content. */
export const buildIdFile = "build-id";

/**
 * The folder to run the program in: the root itself in a checkout; for an installed package its copy, which is made if
 * it does not exist.
 */
export function programFolder(root) {
  if (!existsSync(join(root, buildIdFile))) return root;
  const folder = join(cacheFolder(), readFileSync(join(root, buildIdFile), "utf8").trim());
  if (existsSync(folder)) return folder;
  // Under another name until it is complete: another command may start meanwhile, and this one may be killed.
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
