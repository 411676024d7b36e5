import { ServiceError } from "../errors/errors.ts";

/** In bytes, the limit of file systems: users must be able to extract a directory. */
const longestName = 255;

/** The part after the last slash or backslash: the sender's folders are dropped. */
export function baseName(fileName: string): string {
  return fileName.slice(Math.max(fileName.lastIndexOf("/"), fileName.lastIndexOf("\\")) + 1);
}

/**
 * The names under which a directory links a file: without its last extension, as token URIs have it, and in full.
 *
 * @throws ServiceError `value_error` for a name that cannot be an entry.
 */
export function entryNames(fileName: string | null): string[] {
  const full = baseName(fileName ?? "");
  const dot = full.lastIndexOf(".");
  const names = dot < 0 ? [full] : [full.slice(0, dot), full];
  for (const name of names) {
    const sizeBytes = Buffer.byteLength(name);
    if (name === "" || name === "." || name === ".." || sizeBytes > longestName || hasControlCharacter(name)) {
      throw new ServiceError(
        "value_error",
        `a file named ${JSON.stringify(fileName ?? "").slice(0, 100)} cannot be linked; name it by its token: 0.json`,
      );
    }
  }
  return names;
}

function hasControlCharacter(name: string): boolean {
  for (const character of name) {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}
