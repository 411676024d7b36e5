import { readFile } from "node:fs/promises";
import { join } from "node:path";

const readme = join(import.meta.dirname, "../../README.md");

/** The README's steps from a clone to a minted token, without their numbers. */
export async function readmeSteps(): Promise<string[]> {
  const text = await readFile(readme, "utf8");
  const [, list = ""] = /From a fresh clone to a minted token[^\n]*\n\n((?:\d+\. .*\n)+)/.exec(text) ?? [];
  return list
    .trim()
    .split("\n")
    .map((line) => line.replace(/^\d+\. /, ""));
}
