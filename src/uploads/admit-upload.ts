import type { Caller } from "../auth/caller.ts";
import { planOf } from "../auth/plans.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";

/** Of an announced length, what may be something else than files: the form around them. */
const formBytes = 1_048_576;

/**
 * Says no before a byte of the files is read, where that can be known: the account is full, or the body is longer
 * than what is left. What fits is counted exactly when it is stored.
 *
 * @param announcedBytes of the whole request; null when the client does not say it.
 * @param partBytes of the announced length, what the headers of the parts may be; 1 MiB when absent.
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

/** What the account may still store; null: its plan has no limit. @throws ServiceError `plan_limit_exceeded` when nothing. */
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
 * @returns what counts the bytes of files as they arrive; it throws `plan_limit_exceeded` as soon as they are more
 *   than the account may still store.
 * @throws ServiceError `plan_limit_exceeded` when that is nothing; `storage_full`.
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

/** Runs an upload with one of its account's permits. @throws ServiceError `rate_limit_exceeded` when none became free in time. */
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
