import { createHmac, timingSafeEqual } from "node:crypto";
import { ServiceError } from "../errors/errors.ts";

const macLength = 16;

/**
 * Makes an opaque cursor of a keyset position. It is signed, so a position that we did not issue never reaches the
 * database, and bound to its list.
 *
 * @param secret `config.keyPepper`.
 * @param list identifies the list, including everything without which its positions mean something else.
 */
export function sealCursor(secret: string, list: string, position: Buffer): string {
  return Buffer.concat([position, macOf(secret, list, position)]).toString("base64url");
}

/**
 * Reads the position from a cursor.
 *
 * @param length of this list's positions, in bytes.
 * @throws ServiceError `invalid_continuation_string` for anything that `sealCursor` did not make for this list.
 */
export function openCursor(secret: string, list: string, cursor: string, length: number): Buffer {
  const bytes = Buffer.from(cursor, "base64url");
  const position = bytes.subarray(0, -macLength);
  const canonical = bytes.toString("base64url") === cursor && position.length === length;
  if (canonical && timingSafeEqual(bytes.subarray(-macLength), macOf(secret, list, position))) return position;
  throw new ServiceError(
    "invalid_continuation_string",
    "this continuation was not given out for this list; start again without one",
    { field: "continuation" },
  );
}

/** Half of HMAC-SHA-256. */
function macOf(secret: string, list: string, position: Buffer): Buffer {
  return createHmac("sha256", secret).update(`cursor\0${list}\0`).update(position).digest().subarray(0, macLength);
}
