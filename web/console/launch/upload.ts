import { repeatWhileUnavailable } from "../../../client/src/repeat.ts";
import { api, patiently } from "../api.ts";
import { findUnanswered } from "./find-unanswered.ts";
import { documentOf, type FolderToken } from "./read-folder.ts";
import { type StoredFiles, sha256 } from "./stored-files.ts";

export interface UploadProgress {
  files: number;
  bytes: number;
  /** How many of them were stored already. */
  kept: number;
  waiting: string | null;
}

export interface UploadedFolder {
  /** `ipfs://…/`, the base URI. */
  baseUri: string;
  /** What readers of the metadata will not understand. */
  warnings: string[];
}

/** Concurrent uploads; each has one file in memory. */
const atOnce = 3;

export interface UploadJob {
  tokens: readonly FolderToken[];
  files: readonly File[];
  collection: string;
  /** The account that uploads: another account has to send the files itself. */
  account: string;
  stored: StoredFiles;
  signal: AbortSignal;
  report: (progress: UploadProgress) => void;
}

/** Stores files one by one, and their metadata as one folder. Called again, it continues where it stopped. */
export async function uploadFolder(job: UploadJob): Promise<UploadedFolder> {
  const { tokens, files, signal, report } = job;
  const progress: UploadProgress = { files: 0, bytes: 0, kept: 0, waiting: null };
  const cids = new Map<File, string>();
  await findUnanswered(job);
  const queue = [...files];
  const work = async () => {
    for (let file = queue.shift(); file; file = queue.shift()) {
      signal.throwIfAborted();
      const { cid, kept } = await storeImage(job, file, (waiting) => report({ ...progress, waiting }));
      cids.set(file, cid);
      progress.files += 1;
      progress.bytes += file.size;
      progress.kept += kept ? 1 : 0;
      report({ ...progress, waiting: null });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  const metadata_files = tokens.map(
    (token) => new File([documentOf(token, job.collection, cids)], `${token.id}.json`, { type: "application/json" }),
  );
  const answer = await repeatWhileUnavailable(
    () => api.post("/v0/metadata/directory", { query: { warnings: true }, body: { metadata_files } }),
    patiently(signal, (waiting) => report({ ...progress, waiting })),
  );
  const found = answer.warnings ?? [];
  const warnings = found.map(({ message, examples }) => `${message}: ${examples.join(", ")}`);
  const dead = found.find(({ rule }) => /^image_dead$|_unfilled$/.test(rule));
  if (dead) throw new Error(`${dead.message}: ${dead.examples.join(", ")}`);
  return { baseUri: answer.metadata_directory_ipfs_uri, warnings };
}

async function storeImage(
  { account, stored, signal }: UploadJob,
  image: File,
  waiting: (why: string) => void,
): Promise<{ cid: string; kept: boolean }> {
  const hash = await sha256(image);
  const known = await stored.find(account, hash);
  if (known) return { cid: known, kept: true };
  await stored.begin(account, hash);
  const cid = await storeFile(image, image.name, signal, waiting);
  await stored.add(account, hash, cid);
  return { cid, kept: false };
}

/** @returns its CID. */
export async function storeFile(
  content: Blob,
  name: string,
  signal: AbortSignal,
  waiting: (why: string) => void = () => undefined,
): Promise<string> {
  const { ipfs_url } = await api.uploadFile(content, name, patiently(signal, waiting));
  return ipfs_url.split("/").at(-1) ?? "";
}
