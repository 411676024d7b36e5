import { basename } from "node:path";
import { ConfigError } from "../../setting-words.ts";
import type { Records } from "../car-storage.ts";
import { abandonedAfterMs, orphanKeptMs } from "../sweep-parts.ts";
import type { S3Objects } from "./s3-objects.ts";
import { ObjectMissing } from "./store-fault.ts";

/** Longer than any multipart upload takes. S3 only reports when it began. */
const uploadKeptMs = 86_400_000;
/** Key of the object that names the owner of all others. */
const ownerKey = "owner";
const markOf = (file: string) => `orphans/${file}`;
const carName = /^cars\/([0-9a-f]{2})\/(\1[0-9a-f]{6}(-[0-9a-f]{4}){3}-[0-9a-f]{12})\.car$/;

/**
 * Removes the remains of dead processes from S3: multipart uploads, probes, and CARs that no row names. Such a CAR is
 * first marked by an object of its own, and removed if no row names it a week later: if the database was restored from
 * an older backup, these CARs are of acknowledged uploads. Objects with other names are left alone.
 *
 * @returns how many objects were removed or marked.
 * @throws Error for another database's objects: a copy made for a trial must not remove the original's CARs.
 */
export async function sweepObjects(objects: S3Objects, records: Records, now: number): Promise<number> {
  await requireOwner(objects, await records.databaseName());
  // Some stores do not list or abort uploads, or do not permit it; they remove them by a lifecycle rule.
  let cleared = await objects.abortUploads("cars/", now - uploadKeptMs).catch(() => 0);
  const marked = new Map<string, number>();
  for await (const page of objects.list("orphans/"))
    for (const { key, modified } of page) marked.set(basename(key), modified);
  for await (const page of objects.list("cars/")) {
    const old = page.flatMap(({ key, modified }) => {
      const file = now - modified >= abandonedAfterMs ? carName.exec(key)?.[2] : undefined;
      return file === undefined ? [] : [{ key, file }];
    });
    if (old.length === 0) continue;
    const known = await records.known(old.map(({ file }) => file));
    for (const { key, file } of old) {
      const since = marked.get(file);
      marked.delete(file);
      if (known.has(file)) {
        if (since !== undefined) await objects.remove(markOf(file));
      } else if (since === undefined) {
        await objects.put(markOf(file), new Uint8Array());
        cleared += 1;
      } else if (now - since >= orphanKeptMs) {
        await objects.remove(key);
        await objects.remove(markOf(file));
        cleared += 1;
      }
    }
  }
  // Marks of CARs that were removed by other means. The age keeps the marks of young ones.
  for (const [file, since] of marked) if (now - since >= orphanKeptMs) await objects.remove(markOf(file));
  for await (const page of objects.list("probe/"))
    for (const { key, modified } of page) if (now - modified >= abandonedAfterMs) await objects.remove(key);
  return cleared;
}

/**
 * Two databases on one prefix would each take the other's content for orphans. The first one becomes the owner.
 *
 * @throws ConfigError when the objects belong to another database.
 */
export async function requireOwner(objects: S3Objects, database: string): Promise<void> {
  let owner = await readOwner(objects);
  if (owner === null) {
    await objects.put(ownerKey, Buffer.from(database));
    // Another database may have started at the same time: the last writer is the owner.
    owner = await readOwner(objects);
  }
  if (owner === database) return;
  throw new ConfigError(
    `IPFS_STORE: the objects below it belong to database ${owner}, and this is ${database}. Give this one a prefix of its own; or, when the other is gone for good, remove the object "${ownerKey}"`,
  );
}

async function readOwner(objects: S3Objects): Promise<string | null> {
  try {
    return (await objects.getRange(ownerKey, 0, 1_024)).toString("utf8");
  } catch (error) {
    if (error instanceof ObjectMissing) return null;
    throw error;
  }
}
