import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandError } from "../command-error.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** A file's text, without a UTF-8 byte order mark. @throws CommandError for any other encoding. */
export async function readText(folder: string, path: string): Promise<string> {
  const bytes = await readFile(join(folder, path));
  try {
    return utf8.decode(bytes);
  } catch {
    throw new CommandError(`${path} is not in UTF-8: save it in that encoding, nothing was uploaded`);
  }
}
