import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const pages = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((page) => page && existsSync(join(root, page)));

/** A page's text without its blocks of code, whose brackets and number signs are no links and no headings. */
const proseOf = (page: string) => readFileSync(join(root, page), "utf8").replace(/^ *```[\s\S]*?^ *```$/gm, "");

/** The anchors of a text's headings as GitHub makes them; a heading that comes again has a number behind its anchor. */
function anchorsIn(text: string): string[] {
  const seen = new Map<string, number>();
  return [...text.matchAll(/^#{1,6} +(.+?) *#*$/gm)].map(([, heading = ""]) => {
    const anchor = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}\s_-]/gu, "")
      .replace(/\s/g, "-");
    const times = seen.get(anchor) ?? 0;
    seen.set(anchor, times + 1);
    return times ? `${anchor}-${times}` : anchor;
  });
}

/** @returns why a link of a page leads nowhere, or null. */
function brokenLink(page: string, link: string): string | null {
  const [path = "", anchor] = decodeURI(link).split("#");
  const target = path ? join(dirname(page), path) : page;
  const file = join(root, target);
  if (!existsSync(file)) return `${page}: ${link}: there is no ${target}`;
  if (anchor === undefined) return null;
  if (!statSync(file).isFile() || !target.endsWith(".md")) return `${page}: ${link}: ${target} has no headings`;
  return anchorsIn(proseOf(target)).includes(anchor) ? null : `${page}: ${link}: ${target} has no such heading`;
}

test("every relative link of a page leads to a file, and its anchor to a heading", () => {
  const links = pages.flatMap((page) =>
    [...proseOf(page).matchAll(/\]\((?!\w+:)([^()\s]+)\)/g)].map(([, link = ""]) => ({ page, link })),
  );
  expect(links.length).toBeGreaterThan(200);
  expect(links.filter(({ link }) => link.includes("#")).length).toBeGreaterThan(5);
  expect(links.map(({ page, link }) => brokenLink(page, link)).filter((fault) => fault !== null)).toEqual([]);
});

test("every file of this repository that a page sets as code exists", () => {
  const files = pages.flatMap((page) =>
    [
      ...proseOf(page).matchAll(/`((?:bench|bin|contracts|deploy|docs|indexer|schema|src|test)\/[\w./-]+\.[a-z]+)`/g),
    ].map(([, file = ""]) => ({ page, file })),
  );
  expect(files.length).toBeGreaterThan(150);
  // `NNNN` stands for a number that the reader puts in.
  const missing = files.filter(({ file }) => !file.includes("NNNN") && !existsSync(join(root, file)));
  expect(missing.map(({ page, file }) => `${page}: ${file}`)).toEqual([]);
});

test("every decision is in the index of decisions, every measurement in that of measurements", () => {
  for (const folder of ["docs/decisions", "docs/measurements"]) {
    const listed = [...proseOf(`${folder}/README.md`).matchAll(/^\| \[[^\]]+\]\(([^)]+)\)/gm)].map(([, page]) => page);
    const there = pages.filter((page) => dirname(page) === folder).map((page) => page.slice(folder.length + 1));
    expect(listed.sort(), folder).toEqual(there.filter((page) => page !== "README.md").sort());
  }
});

test.each([
  ["## Who signs", "who-signs"],
  ["### `/v0` REST", "v0-rest"],
  ["## ERC-2309 ranges, and [theirs](x.md)", "erc-2309-ranges-and-theirs"],
  ["## What a node's answer must prove", "what-a-nodes-answer-must-prove"],
])("%s has the anchor %s", (heading, anchor) => {
  expect(anchorsIn(heading)).toEqual([anchor]);
});

test("a heading that comes again has a number", () => {
  expect(anchorsIn("## Gas\n\n## Gas\n")).toEqual(["gas", "gas-1"]);
});
