import { createHash } from "node:crypto";
import { CID } from "multiformats/cid";
import { create as createDigest } from "multiformats/hashes/digest";
import { expect, test } from "vitest";
import { type FolderCase, folderCases } from "../launch/folder-cases.ts";
import { bytesOf, judgeTokens } from "../launch/judge-launch.ts";
import { LinkTo } from "../launch/made-files.ts";

// The folders of `mintyard launch`, as the console's page reads them. A browser gives it files; it has no links and no launch.json.
interface Token {
  id: number;
  document: string | null;
  files: { name: unknown; file: File }[];
}
interface Folder {
  tokens: Token[];
  problems: { file: string; text: string }[];
}
// Its types are those of browsers, which tests of the service do not have.
const page = "../../web/console/launch/read-folder.ts";
const { readFolder, documentOf } = (await import(page)) as {
  readFolder(files: { path: string; file: File }[], mostBytes: number): Promise<Folder>;
  documentOf(token: Token, collection: string, cids: ReadonlyMap<File, string>): string;
};

const hasLinks = ({ files }: FolderCase) => Object.values(files).some((content) => content instanceof LinkTo);
const cases = folderCases.filter((one) => !hasLinks(one) && !one.settings && one.refused?.[0] !== "launch.json");

test.each(cases)("the console takes a folder whole or names what is wrong: $name", async (one) => {
  const given = Object.entries(one.files).map(([path, content]) => {
    const name = path.split("/").at(-1) ?? "";
    return { path: `art/${path}`, file: new File([Buffer.from(bytesOf(content))], name) };
  });
  const { tokens, problems } = await readFolder(given, 20_971_520);
  const said = problems.map(({ file, text }) => `${file} ${text}`).join("\n");
  const { inConsole = one.refused ? "refused" : (one.deployed ?? []) } = one;
  if (inConsole === "refused") {
    expect(said, "it was not refused").not.toBe("");
    return;
  }
  expect(said).toBe("");
  const stored = new Map<string, Uint8Array>();
  const cids = new Map<File, string>();
  for (const { file } of tokens.flatMap(({ files }) => files)) {
    const bytes = Buffer.from(await file.arrayBuffer());
    const cid = CID.createV1(0x55, createDigest(0x12, createHash("sha256").update(bytes).digest())).toString();
    cids.set(file, cid);
    stored.set(cid, bytes);
  }
  for (const token of tokens) stored.set(`documents/${token.id}`, Buffer.from(documentOf(token, "Ape", cids)));
  await judgeTokens(one, inConsole, "ipfs://documents/", async (path) => stored.get(path) ?? null);
});

test("a kept draft of a launch gives what it has of the right kind, and breaks no page", async () => {
  const draft = "../../web/console/launch/draft.ts";
  const { readDraft } = (await import(draft)) as { readDraft: (kept: string | null) => Record<string, unknown> };
  const { publicStart: _now, ...empty } = readDraft(null);
  expect(empty).toMatchObject({ step: 0, name: "", hidden: false, supply: 0 });
  for (const kept of [
    "",
    "{",
    "null",
    "7",
    "[]",
    '"x"',
    '{"step":"2","name":7,"hidden":null,"supply":[]}',
    '{"step":9}',
  ])
    expect(readDraft(kept), kept).toMatchObject(empty);
  expect(readDraft('{"step":3,"name":"Keys","hidden":true,"other":1}')).toMatchObject({
    step: 3,
    name: "Keys",
    hidden: true,
  });
});
