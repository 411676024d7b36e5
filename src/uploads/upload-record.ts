import type { Selectable, Transaction } from "kysely";
import type { Caller } from "../auth/caller.ts";
import type { Database } from "../db/database.ts";
import type { PinState, UploadKind } from "../db/tables/uploads.ts";
import type { StoredContent } from "../ipfs/content-store.ts";
import type { Services } from "../services.ts";

/** A file from an API: can be read once, from its beginning. A stream that throws ends the upload. */
export interface FileInput {
  fileName: string | null;
  contentType: string | null;
  stream: AsyncIterable<Uint8Array>;
}

export interface Upload {
  id: string;
  kind: UploadKind;
  /** CIDv1, base32. */
  cid: string;
  fileName: string | null;
  contentType: string | null;
  /** Size of the file; for a directory, of all files. */
  sizeBytes: number;
  profile: string;
  pinState: PinState;
  createdAt: Date;
}

interface NewUpload {
  kind: UploadKind;
  fileName: string | null;
  contentType: string | null;
}

/** Each database row of an upload's content, with its indexes, counts for this many bytes if the content has fewer. */
export const bytesOfRow = 1_024;

/** A step that inserts an upload's row in the transaction that commits its content. */
export function recordUpload(services: Services, caller: Caller, upload: NewUpload) {
  return async (transaction: Transaction<Database>, content: StoredContent): Promise<Upload> => {
    const row = await transaction
      .insertInto("service.upload")
      .values({
        account_id: caller.accountId,
        kind: upload.kind,
        cid: content.cid,
        car_id: content.carId,
        file_name: upload.fileName,
        content_type: upload.contentType,
        size: content.sizeBytes,
        counted: content.rows * bytesOfRow,
        profile: content.profile,
        pin_state: services.config.ipfs.pinata || services.config.ipfs.kubo ? "queued" : "local",
        pin_error: null,
        pinned_at: null,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    return uploadOfRow(row);
  };
}

export function uploadOfRow(row: Selectable<Database["service.upload"]>): Upload {
  return {
    id: row.id,
    kind: row.kind,
    cid: row.cid,
    fileName: row.file_name,
    contentType: row.content_type,
    sizeBytes: Number(row.size),
    profile: row.profile,
    pinState: row.pin_state,
    createdAt: row.created_at,
  };
}
