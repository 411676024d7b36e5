import { link, rm, writeFile } from "node:fs/promises";

/**
 * Writes a new file, whole or not at all, which its owner alone may read.
 *
 * @throws NodeJS.ErrnoException `EEXIST` where one is there already: it is not touched.
 */
export async function writeWhole(path: string, text: string): Promise<void> {
  const part = `${path}.${process.pid}.part`;
  try {
    await writeFile(part, text, { mode: 0o600, flag: "wx" });
    // Unlike `rename` it never replaces one.
    await link(part, path);
  } finally {
    await rm(part, { force: true });
  }
}
