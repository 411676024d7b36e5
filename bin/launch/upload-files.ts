import { join } from "node:path";
import { CommandError } from "../command-error.ts";
import type { ServiceClient } from "../service-client.ts";
import { filesToUpload } from "./check-artwork.ts";
import { type ContentId, ContentReader } from "./content-id.ts";
import type { Journal } from "./journal.ts";
import type { Artwork } from "./read-folder.ts";
import { refuseChanged } from "./refuse-changed.ts";
import type { Reporter } from "./reporter.ts";

/** Concurrent uploads, as many as a free account may have. */
const atOnce = 4;

/**
 * Uploads each file that is not in the journal, and records it.
 *
 * @returns each file's CID, by its path.
 * @throws CommandError with the names of files that changed since their upload.
 */
export async function uploadFiles(
  folder: string,
  artwork: Artwork,
  { client, journal, reporter }: { client: ServiceClient; journal: Journal; reporter: Reporter },
): Promise<ReadonlyMap<string, string>> {
  const paths = filesToUpload(artwork.tokens);
  const ids = await identify(folder, paths);
  refuseChanged(changedSince(journal, ids), journal);
  const cids = new Map(paths.map((path) => [path, ids.get(path)?.cid ?? ""]));
  const recorded = new Set(journal.all("file").map(({ sha256 }) => sha256));
  const missing = new Map<string, { path: string; id: ContentId }>();
  for (const [path, id] of ids)
    if (!recorded.has(id.sha256) && !missing.has(id.sha256)) missing.set(id.sha256, { path, id });
  // A file may have been stored although the process was killed before it could record that.
  const stored = missing.size > 0 && journal.resumed ? await storedCids(client, journal) : null;

  const all = new Map([...ids.values()].map((id) => [id.sha256, id.sizeBytes]));
  const sum = (hashes: Iterable<string>) => [...hashes].reduce((total, hash) => total + (all.get(hash) ?? 0), 0);
  const progress = {
    files: all.size - missing.size,
    allFiles: all.size,
    bytes: sum(all.keys()) - sum(missing.keys()),
    allBytes: sum(all.keys()),
    sentBytes: 0,
    elapsedMs: 0,
  };
  const started = performance.now();
  const waiting = missing.values();
  const work = async () => {
    for (const { path, id } of waiting) {
      if (!stored?.has(id.cid)) {
        const cid = await client.uploadFile(join(folder, path), path.split(/[\\/]/).at(-1) ?? path);
        if (cid !== id.cid)
          throw new CommandError(`${path} changed while it was uploaded; leave the folder alone and start again`);
        progress.sentBytes += id.sizeBytes;
      }
      journal.write({ step: "file", path, ...id });
      progress.files += 1;
      progress.bytes += id.sizeBytes;
      progress.elapsedMs = performance.now() - started;
      reporter.progress(progress);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  reporter.end();
  return cids;
}

async function identify(folder: string, paths: readonly string[]): Promise<Map<string, ContentId>> {
  const ids = new Map<string, ContentId>();
  const reader = new ContentReader();
  for (const path of paths) ids.set(path, await reader.read(join(folder, path)));
  return ids;
}

function changedSince(journal: Journal, ids: ReadonlyMap<string, ContentId>): string[] {
  const uploaded = new Map(journal.all("file").map(({ path, sha256 }) => [path, sha256]));
  return [...ids].filter(([path, { sha256 }]) => (uploaded.get(path) ?? sha256) !== sha256).map(([path]) => path);
}

const uploadsQuery = `query ($from: DateTime, $after: String) {
  viewer { uploads(kinds: [FILE], from: $from, first: 100, after: $after) {
    nodes { cid } pageInfo { hasNextPage endCursor }
  } }
}`;

interface UploadsPage {
  viewer: { uploads: { nodes: { cid: string }[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } } };
}

/** CIDs of the account's uploads since the launch began. */
async function storedCids(client: ServiceClient, journal: Journal): Promise<Set<string>> {
  const found = new Set<string>();
  // This machine's clock and the service's may differ.
  const from = new Date(Date.parse(journal.last("begun")?.at ?? "") - 3_600_000).toISOString();
  for (let after: string | null = null; ; ) {
    const { viewer }: UploadsPage = await client.graphql<UploadsPage>(uploadsQuery, { from, after });
    const { uploads }: UploadsPage["viewer"] = viewer;
    for (const { cid } of uploads.nodes) found.add(cid);
    if (!uploads.pageInfo.hasNextPage) return found;
    after = uploads.pageInfo.endCursor;
  }
}
