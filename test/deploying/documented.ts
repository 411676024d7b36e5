import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8").replace(/\s+/g, " ");
/** What an operator has read: the README, and what its section on deploying points at. */
const pages = ["README.md", "docs/operations.md", "docs/relayer.md", "docs/analysts.md", ".env.example"];
const text = pages.map(read).join(" ");

/**
 * A command or setting that the documents have word for word, with what the operator puts in.
 *
 * @param written as the documents have it.
 * @param put what stands for the words that are the operator's own.
 * @throws Error when no page has it.
 */
export function documented(written: string, put: Record<string, string> = {}): string {
  if (!text.includes(written.replace(/\s+/g, " "))) throw new Error(`no page has: ${written}`);
  return Object.entries(put).reduce((line, [word, value]) => line.replaceAll(word, value), written);
}
