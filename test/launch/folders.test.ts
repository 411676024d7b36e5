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
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { folderCases } from "./folder-cases.ts";
import { expectRefusal, judgeTokens, writeFolder } from "./judge-launch.ts";

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
