import { send, sendPatiently } from "../api.ts";
import { findUnanswered } from "./find-unanswered.ts";
import type { FolderToken } from "./read-folder.ts";
import { type StoredFiles, sha256 } from "./stored-files.ts";

export interface UploadProgress {
  files: number;
  bytes: number;
  /** Of them, those that were there already. */
  kept: number;
  waiting: string | null;
}

export interface UploadedFolder {
  /** `ipfs://…/`, the base URI. */
  baseUri: string;
  firstImage: string;
}

/** Uploads at once; each holds one file in memory. */
const atOnce = 3;

export interface UploadJob {
  tokens: readonly FolderToken[];
  collection: string;
  /** Whose uploads they are: another account has to send them itself. */
  account: string;
  stored: StoredFiles;
  signal: AbortSignal;
  report: (progress: UploadProgress) => void;
}

/** Stores pictures one by one and their metadata as one folder. Begun again, it goes on where it was. */
export async function uploadFolder(job: UploadJob): Promise<UploadedFolder> {
  const { tokens, signal, report } = job;
  const progress: UploadProgress = { files: 0, bytes: 0, kept: 0, waiting: null };
  const cids = new Map<number, string>();
  await findUnanswered(job);
  const queue = [...tokens];
  const work = async () => {
    for (let token = queue.shift(); token; token = queue.shift()) {
      signal.throwIfAborted();
      const { cid, kept } = await storeImage(job, token.image, (waiting) => report({ ...progress, waiting }));
      cids.set(token.id, cid);
      progress.files += 1;
      progress.bytes += token.image.size;
      progress.kept += kept ? 1 : 0;
      report({ ...progress, waiting: null });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  const form = new FormData();
  for (const { id, metadata } of tokens) {
    const document = { name: `${job.collection} #${id}`, ...metadata, image: `ipfs://${cids.get(id)}` };
    form.append("metadata_files", new Blob([JSON.stringify(document)], { type: "application/json" }), `${id}.json`);
  }
  const answer = await sendPatiently(
    () => send<{ metadata_directory_ipfs_uri: string }>("POST", "/v0/metadata/directory", form),
    signal,
    (waiting) => report({ ...progress, waiting }),
  );
  return { baseUri: answer.metadata_directory_ipfs_uri, firstImage: `ipfs://${cids.get(0)}` };
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
  const form = new FormData();
  form.append("file", content, name);
  const { ipfs_url } = await sendPatiently(
    () => send<{ ipfs_url: string }>("POST", "/v0/files", form),
    signal,
    waiting,
  );
  return ipfs_url.split("/").at(-1) ?? "";
}
