import type { Caller } from "../auth/caller.ts";
import { planOf } from "../auth/plans.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";

/** The part of the announced length that may be the form around the files. */
const formBytes = 1_048_576;

/**
 * Refuses an upload before a byte of its files is read, where that is possible: the account is full, or the body is
 * longer than its free storage. An accepted upload is counted exactly when it is stored.
 *
 * @param announcedBytes length of the whole request; null when the client does not announce it.
 * @param partBytes the part of it that the headers of the parts may take; 1 MiB when absent.
 * @throws ServiceError `plan_limit_exceeded` with `limit` and `used`, in bytes; `storage_full`.
 */
export async function refuseOverQuota(
  services: Services,
  caller: Caller,
  announcedBytes: number | null,
  partBytes = formBytes,
): Promise<void> {
  await services.disk.requireRoom(caller.tier === "free");
  const room = await storageRoom(services, caller);
  if (room && (announcedBytes ?? 0) - partBytes > room.left) throw overQuota(room);
}

interface Room {
  limit: bigint;
  used: bigint;
  /** Bytes; never below zero. */
  left: number;
}

/** The account's free storage; null: no limit. @throws ServiceError `plan_limit_exceeded` when it has none left. */
async function storageRoom({ db }: Services, caller: Caller): Promise<Room | null> {
  const { storageBytes: limit } = planOf(caller);
  if (limit === null) return null;
  const row = await db
    .selectFrom("service.account_storage")
    .select("bytes")
    .where("account_id", "=", caller.accountId)
    .executeTakeFirst();
  const used = row?.bytes ?? 0n;
  if (used >= limit) throw overQuota({ limit, used });
  return { limit, used, left: Number(limit - used) };
}

function overQuota({ limit, used }: { limit: bigint; used: bigint }): ServiceError {
  return new ServiceError(
    "plan_limit_exceeded",
    `your plan keeps ${limit} bytes and holds ${used} of yours: this upload does not fit`,
    { details: { limit: Number(limit), used: Number(used) } },
  );
}

/**
 * @returns a function that counts bytes of files as they arrive; it throws `plan_limit_exceeded` as soon as they exceed
 *   the account's free storage.
 * @throws ServiceError `plan_limit_exceeded` when the account has no free storage; `storage_full`.
 */
export async function storageMeter(services: Services, caller: Caller): Promise<(bytes: number) => void> {
  await services.disk.requireRoom(caller.tier === "free");
  const room = await storageRoom(services, caller);
  let size = 0;
  return (bytes) => {
    size += bytes;
    if (room && size > room.left) throw overQuota(room);
  };
}

/** Runs an upload with one of its account's permits. @throws ServiceError `rate_limit_exceeded` if none became free. */
export async function withUploadPermit<T>(services: Services, caller: Caller, run: () => Promise<T>): Promise<T> {
  const { uploadsAtOnce } = planOf(caller);
  if (uploadsAtOnce === null) return await run();
  const leave = await services.auth.permits.take(caller.accountId, uploadsAtOnce);
  if (!leave) {
    const message = `more than ${uploadsAtOnce} uploads of this account at once, and many more waiting; send fewer`;
    throw new ServiceError("rate_limit_exceeded", message, { retryAfterSeconds: 5 });
  }
  try {
    return await run();
  } finally {
    leave();
  }
}
