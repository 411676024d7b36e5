import { link, rm, writeFile } from "node:fs/promises";

/**
 * Writes a new file that only its owner may read, completely or not at all.
 *
 * @throws NodeJS.ErrnoException `EEXIST` when the file exists; it is not changed.
 */
export async function writeWhole(path: string, text: string): Promise<void> {
  const part = `${path}.${process.pid}.part`;
  try {
    await writeFile(part, text, { mode: 0o600, flag: "wx" });
    // Unlike `rename`, it never replaces an existing file.
    await link(part, path);
  } finally {
    await rm(part, { force: true });
  }
}
