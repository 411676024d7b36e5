import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { type Upload, uploadOfRow } from "./upload-record.ts";

/** One upload of the caller's account. @throws ServiceError `not_found`, also for another account's. */
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
