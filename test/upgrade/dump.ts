import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import type { Manifest } from "../../src/db/admin/backup.ts";

/** Where the dumps of all versions lie, one file each: `VERSION.json.gz`. */
export const dumps = join(import.meta.dirname, "../fixtures/upgrade");

interface Packed {
  manifest: Manifest;
  tables: Record<string, string>;
}

/** Puts the rows of a backup into one file. @returns its size. */
export async function packDump(folder: string, version: string): Promise<number> {
  const manifest = JSON.parse(await readFile(join(folder, "manifest.json"), "utf8")) as Manifest;
  const tables: Packed["tables"] = {};
  for (const file of await readdir(join(folder, "service")))
    tables[file] = await readFile(join(folder, "service", file), "utf8");
  const bytes = gzipSync(JSON.stringify({ manifest, tables } satisfies Packed), { level: 9 });
  await mkdir(dumps, { recursive: true });
  await writeFile(join(dumps, `${version}.json.gz`), bytes);
  return bytes.length;
}

/**
 * A backup of a version that had one migration less than the first one that was dumped: policies and rights of roles came
 * later there, and no table.
 */
export async function unpackOlder(folder: string): Promise<Manifest> {
  const manifest = await unpackDump("0.2.0", folder);
  if (!manifest.migrations.pop()?.name.includes("tenants")) throw new Error("the last migration made tables");
  await writeFile(join(folder, "manifest.json"), JSON.stringify(manifest));
  return manifest;
}

/** Makes the backup again that a file was packed from. */
export async function unpackDump(version: string, folder: string): Promise<Manifest> {
  const { manifest, tables } = JSON.parse(
    String(gunzipSync(await readFile(join(dumps, `${version}.json.gz`)))),
  ) as Packed;
  await mkdir(join(folder, "service"), { recursive: true });
  for (const [file, text] of Object.entries(tables)) await writeFile(join(folder, "service", file), text);
  await writeFile(join(folder, "manifest.json"), JSON.stringify(manifest));
  return manifest;
}
