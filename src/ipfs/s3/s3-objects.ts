import { hash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import type { S3Settings } from "../../config/ipfs-store.ts";
import { readAt } from "../car-file.ts";
import { countForMinorGc } from "../minor-gc.ts";
import { ObjectMissing, StoreFault } from "./store-fault.ts";
import type { Asking } from "./store-health.ts";

/** An object up to this size is written with one request, a larger one in parts of this size, two at a time. */
const partBytes = 8_388_608;
const partsAtOnce = 2;
/** S3 allows 10,000. */
const mostParts = 9_000;
const mebibyte = 1_048_576;
/** Tries for a body that breaks off; requests without an answer are retried by the client itself. */
const bodyTries = 2;
/** The last one applies to a connection without any traffic; a part may take longer on a slow line. */
const timeouts = {
  connectionTimeout: 3_000,
  requestTimeout: 60_000,
  throwOnRequestTimeout: true,
  socketTimeout: 10_000,
};

export interface StoredObject {
  /** Without the prefix. */
  key: string;
  /** Milliseconds since 1970, by the store's clock. */
  modified: number;
}

/** Our requests to S3, below the prefix. This module is loaded only when blocks are kept in S3. */
export class S3Objects {
  readonly #client: S3Client;
  readonly #settings: S3Settings;
  readonly #ask: Asking;

  /** @param ask runs a request, and turns its failure into `StoreAway` or `ObjectMissing`. */
  constructor(settings: S3Settings, ask: Asking) {
    const { region, endpoint, pathStyle, credentials } = settings;
    this.#settings = settings;
    this.#ask = ask;
    this.#client = new S3Client({
      region,
      forcePathStyle: pathStyle,
      maxAttempts: 3,
      requestHandler: timeouts,
      // Stores other than AWS' do not know trailing checksums. All of them check Content-MD5.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      ...(endpoint === null ? {} : { endpoint }),
      ...(credentials === null ? {} : { credentials }),
    });
  }

  /** The request has the hash of the bytes, so the store refuses corrupted ones. */
  async put(key: string, bytes: Uint8Array): Promise<void> {
    const input = { ...this.#at(key), Body: bytes, ContentMD5: md5(bytes) };
    await this.#ask("write", () => this.#client.send(new PutObjectCommand(input)));
  }

  /**
   * Stores a file, and resolves when the store reports an object of its size. A failed upload leaves no object; its
   * parts are removed now, or by the sweep.
   */
  async putFile(key: string, path: string): Promise<void> {
    const file = await open(path, "r");
    try {
      const { size } = await file.stat();
      if (size <= partBytes) await this.put(key, await readPart(file, 0, size));
      else await this.#putParts(key, file, size);
      const kept = await this.size(key);
      if (kept !== size) throw new StoreFault(`the store has ${kept} bytes of ${size} under ${key}`, false, null);
    } finally {
      await file.close();
    }
  }

  async #putParts(key: string, file: FileHandle, size: number): Promise<void> {
    const at = this.#at(key);
    const length = Math.max(partBytes, Math.ceil(size / mostParts / mebibyte) * mebibyte);
    const { UploadId } = await this.#ask("write", () => this.#client.send(new CreateMultipartUploadCommand(at)));
    const upload = { ...at, UploadId };
    try {
      const count = Math.ceil(size / length);
      const parts: { PartNumber: number; ETag: string | undefined }[] = [];
      let next = 0;
      const putSome = async () => {
        for (let index = next++; index < count; index = next++) {
          const bytes = await readPart(file, index * length, Math.min(length, size - index * length));
          const part = { ...upload, PartNumber: index + 1, Body: bytes, ContentMD5: md5(bytes) };
          const { ETag } = await this.#ask("write", () => this.#client.send(new UploadPartCommand(part)));
          parts.push({ PartNumber: index + 1, ETag });
        }
      };
      await settleAll(Array.from({ length: partsAtOnce }, putSome));
      const Parts = parts.sort((a, b) => a.PartNumber - b.PartNumber);
      const whole = { ...upload, MultipartUpload: { Parts } };
      await this.#ask("write", () => this.#client.send(new CompleteMultipartUploadCommand(whole)));
    } catch (error) {
      await this.#client.send(new AbortMultipartUploadCommand(upload)).catch(() => undefined);
      throw error;
    }
  }

  /**
   * Bytes of an object, fewer if it ends before the last of them.
   *
   * @throws ObjectMissing, StoreAway
   */
  async getRange(key: string, position: number, length: number): Promise<Buffer> {
    const input = { ...this.#at(key), Range: `bytes=${position}-${position + length - 1}` };
    return await this.#ask("read", async () => {
      for (let tries = 1; ; tries += 1) {
        try {
          return await bytesOf(await this.#client.send(new GetObjectCommand(input)), position, length);
        } catch (error) {
          if ((error as { name?: string }).name === "InvalidRange") return Buffer.alloc(0);
          if (!(error instanceof BrokenBody) || tries === bodyTries) throw error;
        }
      }
    });
  }

  /** The size of an object; null if it is missing. */
  async size(key: string): Promise<number | null> {
    try {
      const head = await this.#ask("read", () => this.#client.send(new HeadObjectCommand(this.#at(key))));
      return head.ContentLength ?? 0;
    } catch (error) {
      if (error instanceof ObjectMissing) return null;
      throw error;
    }
  }

  async remove(key: string): Promise<void> {
    try {
      await this.#ask("remove", () => this.#client.send(new DeleteObjectCommand(this.#at(key))));
    } catch (error) {
      if (!(error instanceof ObjectMissing)) throw error;
    }
  }

  /** Every object whose key has this prefix, listed a thousand at a time. */
  async *list(beginning: string): AsyncGenerator<StoredObject[]> {
    const { bucket: Bucket, prefix } = this.#settings;
    let ContinuationToken: string | undefined;
    do {
      const input = { Bucket, Prefix: prefix + beginning, ContinuationToken };
      const page = await this.#ask("list", () => this.#client.send(new ListObjectsV2Command(input)));
      yield (page.Contents ?? []).flatMap(({ Key = "", LastModified }) =>
        LastModified ? [{ key: Key.slice(prefix.length), modified: LastModified.getTime() }] : [],
      );
      ContinuationToken = page.IsTruncated ? page.NextContinuationToken : undefined;
    } while (ContinuationToken !== undefined);
  }

  /** Aborts multipart uploads that began before a time. @returns how many. */
  async abortUploads(beginning: string, before: number): Promise<number> {
    const { bucket: Bucket, prefix } = this.#settings;
    const input = { Bucket, Prefix: prefix + beginning };
    // Only the first thousand; the next sweep takes more.
    const { Uploads = [] } = await this.#ask("list", () => this.#client.send(new ListMultipartUploadsCommand(input)));
    let aborted = 0;
    for (const { Key, UploadId, Initiated } of Uploads) {
      if (!Initiated || Initiated.getTime() >= before) continue;
      const upload = { Bucket, Key, UploadId };
      await this.#ask("remove", () => this.#client.send(new AbortMultipartUploadCommand(upload))).then(
        () => aborted++,
        // Another process may have aborted it first.
        (error) => {
          if (!(error instanceof ObjectMissing)) throw error;
        },
      );
    }
    return aborted;
  }

  close(): void {
    this.#client.destroy();
  }

  #at(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#settings.bucket, Key: this.#settings.prefix + key };
  }
}

/** The connection closed, or stalled, in the middle of an answer. */
class BrokenBody extends Error {}

/** @throws Error for an answer with other bytes than the requested ones. */
async function bytesOf(answer: GetObjectCommandOutput, position: number, length: number): Promise<Buffer> {
  const { Body, ContentRange = "", ContentLength } = answer;
  const [, first, last] = /^bytes (\d+)-(\d+)\//.exec(ContentRange) ?? [];
  const count = Number(last) - Number(first) + 1;
  if (!Body || Number(first) !== position || !(count <= length)) {
    (Body as { destroy?: () => void } | undefined)?.destroy?.();
    throw new Error(`the store answers ${JSON.stringify(ContentRange)}, and ranges are needed`);
  }
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const part of Body as AsyncIterable<Uint8Array>) {
      parts.push(part);
      bytes += part.length;
    }
  } catch (cause) {
    throw new BrokenBody("the answer broke off", { cause });
  }
  if (bytes !== count || bytes !== (ContentLength ?? count)) throw new BrokenBody(`${bytes} of ${count} bytes came`);
  return Buffer.concat(parts, bytes);
}

async function readPart(file: FileHandle, position: number, length: number): Promise<Buffer> {
  countForMinorGc(length);
  const bytes = await readAt(file, position, length);
  if (!bytes) throw new Error("a CAR that is being stored became shorter");
  return bytes;
}

function md5(bytes: Uint8Array): string {
  return hash("md5", bytes, "base64");
}

/** Waits for all of them, so that none is still running after the first failure. */
async function settleAll(works: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(works);
  for (const result of results) if (result.status === "rejected") throw result.reason;
}
