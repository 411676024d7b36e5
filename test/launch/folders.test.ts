import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { CID } from "multiformats/cid";
import { create as createDigest } from "multiformats/hashes/digest";
import { expect, test } from "vitest";
import { checkArtwork, refuseFindings } from "../../bin/launch/check-artwork.ts";
import { readFolder } from "../../bin/launch/read-folder.ts";
import { readSettings } from "../../bin/launch/settings.ts";
import { linkedDocument } from "../../bin/launch/upload-documents.ts";
import { SeededGenerator } from "../setup/seeded-generator.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { type FolderCase, folderCases } from "./folder-cases.ts";
import { expectRefusal, judgeTokens, writeFolder } from "./judge-launch.ts";
import { png } from "./made-files.ts";

// What would be uploaded of each folder, and where its links lead; `folders.long.test.ts` deploys them.
const mostBytes = 20_971_520;

/** All that a launch would store, by the path under which readers ask for it. */
async function plan(folder: string) {
  const stored = new Map<string, Uint8Array>();
  const settings = await readSettings(folder);
  const artwork = await readFolder(folder);
  const findings = await checkArtwork(folder, artwork, settings, mostBytes);
  refuseFindings(findings, false);
  const cids = new Map<string, string>();
  for (const path of artwork.tokens.flatMap(({ files }) => files)) {
    const bytes = await readFile(join(folder, path));
    const digest = createHash("sha256").update(bytes).digest();
    const cid = CID.createV1(0x55, createDigest(0x12, digest)).toString();
    cids.set(path, cid);
    stored.set(cid, bytes);
  }
  for (const token of artwork.tokens)
    stored.set(`documents/${token.tokenId}`, Buffer.from(await linkedDocument(folder, artwork, token, cids)));
  return { stored, warnings: findings.warnings };
}

test.each(folderCases)("a folder is whole or refused by name: $name", async (one) => {
  const folder = temporaryFolder();
  await writeFolder(folder, one);
  const planned = await plan(folder).catch((error: Error) => error);
  if (one.refused) {
    expect(planned, "it was not refused").toBeInstanceOf(Error);
    expectRefusal(one, folder, (planned as Error).message);
    return;
  }
  if (planned instanceof Error) throw planned;
  await judgeTokens(one, one.deployed ?? [], "ipfs://documents/", async (path) => planned.stored.get(path) ?? null);
  if (one.warns) expect(planned.warnings.join("\n")).toMatch(one.warns);
});

/** A picture's name of odd parts, how a document may write it, and files that are nearly called so. */
function oddFolder(seed: number): FolderCase {
  const random = new SeededGenerator(seed);
  const part = () =>
    random.pick([
      "Ape",
      "ape",
      "7",
      "07",
      "é",
      "e\u0301",
      "猿",
      "🦍",
      "a b",
      "x+y",
      "v1.0",
      "50%",
      "%20",
      "q?r",
      "s#t",
      "(1)",
      "'",
      "&",
    ]);
  const extension = random.pick([".png", ".PNG", ".jpeg", ".gif"]);
  const stem = Array.from({ length: random.between(1, 3) }, part).join(random.pick(["", " ", "-", "#", "?", "."]));
  const folder = random.pick(["", "", "rare/"]);
  const name = `${folder}${stem}${extension}`;
  const written = random.pick([
    name,
    encodeURI(name),
    name.split("/").map(encodeURIComponent).join("/"),
    name.normalize(random.pick(["NFC", "NFD"])),
    name.replace(extension, extension.toUpperCase()),
    `${folder}${stem}`,
    `${name}?raw=1`,
  ]);
  const before = random.pick([
    "",
    "./",
    "images/",
    "../images/",
    "ipfs://NewUriToReplace/",
    "ipfs://<CID>/images/",
    "https://ipfs.io/ipfs/NewUriToReplace/",
  ]);
  const near = [
    stem.replace(/[?#. ].*$/, ""),
    `${stem} 1`,
    [...stem].slice(1).join(""),
    stem.toLowerCase(),
    `${stem}${stem}`,
    stem.normalize("NFD"),
    "0",
  ];
  const decoys = near.flatMap((one) => [`${folder}${one}${extension}`, `${one}.webp`]).filter(() => random.chance(0.5));
  // What is called exactly as the document says is what it names.
  const others = decoys.filter(
    (one) => one !== name && one !== written && !/^\.|\/\.|\/$/.test(one) && one !== `${written}${extension}`,
  );
  return {
    name: `${seed}: ${before}${written}`,
    files: {
      ...Object.fromEntries([name, ...others].map((path) => [`images/${path}`, png()])),
      "metadata/0.json": { name: "Ape", attributes: [], image: `${before}${written}` },
    },
    deployed: [{ document: "metadata/0.json", links: { image: `images/${name}` } }],
  };
}

test("no odd name leads to another file than its own: 120 folders", async () => {
  let refused = 0;
  for (let seed = 0; seed < 120; seed += 1) {
    const one = oddFolder(seed);
    const folder = temporaryFolder();
    await writeFolder(folder, one);
    const planned = await plan(folder).catch((error: Error) => error);
    if (planned instanceof Error) {
      refused += 1;
      expect(planned.message, one.name).toMatch(/metadata\/0\.json: image names/);
    } else
      await judgeTokens(one, one.deployed ?? [], "ipfs://documents/", async (path) => planned.stored.get(path) ?? null);
  }
  // A name without extension that several files have.
  expect(refused).toBeLessThan(30);
});
