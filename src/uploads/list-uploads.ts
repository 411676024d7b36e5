import { sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { bytesToUint, uintToBytes } from "../db/bytes.ts";
import { sealCursor } from "../db/cursor.ts";
import type { UploadKind } from "../db/tables/uploads.ts";
import { ServiceError } from "../errors/errors.ts";
import { boundsOf, type Page, type PageRequest, pageOf, refuseTooDeep } from "../nfts/page.ts";
import type { Services } from "../services.ts";
import { type Upload, uploadOfRow } from "./upload-record.ts";

export interface ListUploadsInput {
  /** Empty: all kinds. */
  kinds: readonly UploadKind[];
  /** Both inclusive. */
  from?: Date | undefined;
  until?: Date | undefined;
  page: PageRequest;
}

export interface ListedUpload extends Upload {
  /** Unix time of the upload in microseconds. */
  createdMicros: bigint;
}

const largestPage = 500;

/**
 * The uploads of the caller's account, newest first.
 *
 * @throws ServiceError `value_error` for a page out of range (1 to 500), `invalid_continuation_string`.
 */
export async function listUploads(
  services: Services,
  caller: Caller,
  input: ListUploadsInput,
): Promise<Page<ListedUpload>> {
  const { db, config } = services;
  const list = `uploads ${caller.accountId}`;
  const bounds = boundsOf(input.page, config.keyPepper, list, 24, largestPage);
  refuseTooDeep(bounds, input.page, null);
  const micros = sql<bigint>`(extract(epoch FROM created_at) * 1000000)::bigint`;
  let rows = db
    .selectFrom("service.upload")
    .selectAll()
    .select(micros.as("micros"))
    .where("account_id", "=", caller.accountId)
    // Both directions follow the index: newest first, equal times by ascending id.
    .orderBy("created_at", bounds.backward ? "asc" : "desc")
    .orderBy("id", bounds.backward ? "desc" : "asc")
    .limit(bounds.limit)
    .offset(bounds.offset);
  if (input.kinds.length > 0) rows = rows.where("kind", "in", input.kinds);
  if (input.from) rows = rows.where("created_at", ">=", input.from);
  // Clients give milliseconds at most, rows have microseconds: the whole millisecond belongs to the range.
  if (input.until) rows = rows.where("created_at", "<", new Date(input.until.getTime() + 1));
  if (bounds.position) {
    const at = sql<Date>`to_timestamp(0) + ${bytesToUint(bounds.position.subarray(0, 8))} * interval '1 microsecond'`;
    const id = uuidOf(bounds.position.subarray(8));
    const [time, tie] = bounds.backward ? ([">", "<"] as const) : (["<", ">"] as const);
    // The first condition lets the index be used, the second one decides between equal times.
    rows = rows
      .where("created_at", `${time}=`, at)
      .where(({ eb, or }) => or([eb("created_at", time, at), eb("id", tie, id)]));
  }
  return pageOf(await rows.execute(), bounds, (row) => ({
    node: { ...uploadOfRow(row), createdMicros: row.micros },
    cursor: sealCursor(
      config.keyPepper,
      list,
      Buffer.concat([uintToBytes(row.micros, 8), Buffer.from(row.id.replaceAll("-", ""), "hex")]),
    ),
  }));
}

function uuidOf(bytes: Buffer): string {
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** One upload of the caller's account. @throws ServiceError `not_found`, also for an upload of another account. */
export async function getUpload(services: Services, caller: Caller, id: string): Promise<Upload> {
  const row = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id)
    ? await services.db
        .selectFrom("service.upload")
        .selectAll()
        .where("id", "=", id)
        .where("account_id", "=", caller.accountId)
        .executeTakeFirst()
    : undefined;
  if (!row) throw new ServiceError("not_found", "no upload of this account has this id", { field: "id" });
  return uploadOfRow(row);
}

/** The most bytes of all documents in one answer. */
const largestBytes = 16 * 1_048_576;

/**
 * The stored text of each metadata document among the uploads, by CID.
 * Bounded in memory: documents after the first 16 MiB are left out, and so are those that cannot be read at present:
 * one lost file must not hide the whole list.
 */
export async function readDocuments(services: Services, uploads: readonly Upload[]): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  let room = largestBytes;
  for (const { kind, cid, sizeBytes } of uploads) {
    if (kind !== "metadata" || texts.has(cid) || sizeBytes > room) continue;
    const bytes = await services.content.readBlock(cid).catch((error: unknown) => {
      services.logOnce.write("error", `document ${cid}`, { err: error, cid }, "a stored document cannot be read");
      return null;
    });
    if (!bytes) continue;
    room -= bytes.length;
    texts.set(cid, Buffer.from(bytes).toString("utf8"));
  }
  return texts;
}
