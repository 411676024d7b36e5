import { readFile } from "node:fs/promises";
import { CommandError } from "../command-error.ts";
import { listed } from "./read-folder.ts";

/**
 * The wallets in a file, one per line; in a CSV, the first column. Empty lines, comments (#) and a heading are skipped,
 * repeats are dropped.
 *
 * @throws CommandError with the line of each entry that is not an address.
 */
export async function readAllowlist(path: string): Promise<{ wallets: string[]; repeats: number }> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw error.code === "ENOENT" ? new CommandError(`${path} does not exist`) : error;
  });
  const lines = text
    .replace(/^\ufeff/, "")
    .split(/\r?\n/)
    .map((line, index) => ({ entry: (line.split(/[,;\t]/)[0] ?? "").trim().replace(/^"|"$/g, ""), number: index + 1 }));
  const entries = lines.filter(
    ({ entry, number }) => entry && !entry.startsWith("#") && !(number === 1 && /^(address|wallet)/i.test(entry)),
  );
  const wrong = entries.filter(({ entry }) => !/^0x[0-9a-fA-F]{40}$/.test(entry));
  if (wrong.length > 0)
    throw new CommandError(
      `${path} has entries that are no addresses: ${listed(wrong.map(({ entry, number }) => `line ${number} ${JSON.stringify(entry.slice(0, 60))}`))}`,
    );
  const wallets = [...new Map(entries.map(({ entry }) => [entry.toLowerCase(), entry])).values()];
  return { wallets, repeats: entries.length - wallets.length };
}
