import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { drawImage } from "../../bin/demo-images.ts";
import { checkArtwork } from "../../bin/launch/check-artwork.ts";
import { nextDeploymentKey, openDeployment, openIntent } from "../../bin/launch/deploy.ts";
import { type DeployInput, Journal, journalPath, type Step } from "../../bin/launch/journal.ts";
import { readFolder } from "../../bin/launch/read-folder.ts";
import { parseSettings, readSettings } from "../../bin/launch/settings.ts";
import { linkedDocument } from "../../bin/launch/upload-documents.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { wallet } from "./artwork.ts";

// What a folder becomes, without a service: which file each document gets, or why the folder is refused.
const png = drawImage(1, 8);
const cid = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy";
const settings = {
  ...{ chain: "goerli", name: "Keys", symbol: "KEY", owner: wallet, treasury: wallet, price: "0.01" },
  publicMintStart: "2036-01-01T00:00:00Z",
};

type Files = Record<string, string | Uint8Array | object>;

async function makeFolder(files: Files): Promise<string> {
  const folder = temporaryFolder();
  for (const name of ["images", "metadata"]) await mkdir(join(folder, name));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    const bytes = typeof content === "string" || content instanceof Uint8Array ? content : JSON.stringify(content);
    await writeFile(join(folder, path), bytes);
  }
  return folder;
}

/** What the check says, and each document with the path of a file in the place of its CID. */
async function launched(folder: string, given: object = {}, largestBytes = 20_971_520) {
  const artwork = await readFolder(folder);
  const findings = await checkArtwork(
    folder,
    artwork,
    parseSettings({ ...settings, ...given }, "launch.json"),
    largestBytes,
  );
  const cids = new Map([...artwork.media.keys()].map((path) => [path, path]));
  const documents: string[] = [];
  if (findings.errors.length === 0)
    for (const token of artwork.tokens) documents.push(await linkedDocument(folder, artwork, token, cids));
  const files = artwork.tokens.map((token) => token.files);
  return { ...findings, documents, files };
}

const document = (image: unknown, more: object = {}) => ({ name: "a", attributes: [], image, ...more });

test.each([
  "ipfs://NewUriToReplace/2.png",
  "ipfs://QmYourCIDHere/2.png",
  "https://gateway.example/ipfs/NewUriToReplace/2.png",
  "https://example.org/<CID>/2.png",
  "ar://NewUriToReplace/2.png",
  "file:///home/me/images/2.png",
  "YOUR_IMAGE:2",
  "2.png",
  "images/2.png",
])("a picture that is missing is refused, whatever the placeholder: %s", async (image) => {
  const folder = await makeFolder({ "images/0.png": png, "metadata/0.json": document(image) });
  const { errors } = await launched(folder);
  expect(errors).toEqual([expect.stringMatching(/^metadata\/0\.json: image names .*2\.png|YOUR_IMAGE:2/)]);
});

test.each([
  `ipfs://${cid}/2.png`,
  "ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG/2.png",
  "https://example.org/2.png",
  "data:image/svg+xml;utf8,<svg xmlns='http://www.w3.org/2000/svg'/>",
])("a link that readers can follow stays as it is: %s", async (image) => {
  const folder = await makeFolder({ "metadata/0.json": document(image) });
  const { errors, documents } = await launched(folder);
  expect(errors).toEqual([]);
  expect(JSON.parse(documents[0] ?? "")).toEqual(document(image));
});

test("a picture that is no text is refused, and a placeholder's picture must be there", async () => {
  const other = await makeFolder({ "images/0.png": png, "metadata/0.json": document(5) });
  const given = { reveal: "later", placeholder: { name: "Not yet", image: "hidden.png" } };
  expect((await launched(other, given)).errors).toEqual([
    "metadata/0.json: image is no text",
    "launch.json: the placeholder names hidden.png, which is no file of the folder",
  ]);
});

const gif = Buffer.from("R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=", "base64");
test.each([
  ["0.gif", "images/0.gif"],
  ["ipfs://NewUriToReplace/0.gif", "images/0.gif"],
  ["0.png", "images/0.png"],
  ["thumbs/0.png", "images/thumbs/0.png"],
  ["C:\\art\\images\\thumbs\\0.png", "images/thumbs/0.png"],
  ["../images/0.png", "images/0.png"],
  ["./images/0.PNG", "images/0.png"],
  ["Wookz#525.png", "images/Wookz#525.png"],
  ["Wookz%23525.png?raw=1", "images/Wookz#525.png"],
  ["e\u0301toile.png", "images/\u00e9toile.png"],
  ["\u00e9toile", "images/\u00e9toile.png"],
])("a document gets the file that it names: %s", async (image, path) => {
  const names = ["images/0.png", "images/thumbs/0.png", "images/Wookz#525.png", "images/\u00e9toile.png"];
  const pictures = Object.fromEntries(names.map((name) => [name, png]));
  const folder = await makeFolder({ ...pictures, "images/0.gif": gif, "metadata/0.json": document(image) });
  const { errors, documents } = await launched(folder);
  expect(errors).toEqual([]);
  expect(JSON.parse(documents[0] ?? "")).toEqual(document(`ipfs://${path}`));
});

test.each([
  ["1.gif", { "images/1.png": png }, 'names "1.gif", which is no link and no file of images/ (there is images/1.png)'],
  ["thumbs/1.png", { "images/1.png": png }, 'names "thumbs/1.png"'],
  ["hero.png", { "images/1.png": png }, 'names "hero.png"'],
  ["../../1.png", { "images/1.png": png }, 'names "../../1.png"'],
  [undefined, { "images/1.png": png, "images/1.gif": gif }, "no picture, or more than one, belongs to metadata/1.json"],
  ["", {}, "no picture, or more than one, belongs to metadata/1.json"],
  ["1", { "images/1.png": png, "images/1.gif": gif }, 'names "1"'],
])("no other file takes the place of what is named: %s", async (image, files, fault) => {
  const folder = await makeFolder({ ...files, "metadata/1.json": document(image) });
  expect((await launched(folder)).errors).toEqual([expect.stringContaining(fault)]);
});

test("a document without a picture gets the one of its number, and keeps all else", async () => {
  const folder = await makeFolder({
    ...{ "images/0.png": png, "images/1.gif": gif, "images/2.png": png },
    ...{
      "metadata/0.json": ' { "name": "a" }\n',
      "metadata/1.json": '{"image": "" , "a":1}',
      "metadata/2.json": "{ }",
    },
  });
  expect(await launched(folder)).toMatchObject({
    errors: [],
    documents: [
      ' {"image":"ipfs://images/0.png", "name": "a" }\n',
      '{"image": "ipfs://images/1.gif" , "a":1}',
      '{"image":"ipfs://images/2.png" }',
    ],
  });
});

test("everything that a document names is uploaded and linked", async () => {
  const given = document("0.png", {
    animation_url: "ipfs://NewUriToReplace/0.mp4",
    description: 'See ipfs://NewUriToReplace/1.png. And "ipfs://NewUriToReplace/0.png"!',
    properties: { files: [{ uri: "0.png" }, { uri: "models/0.glb" }, { uri: `ipfs://${cid}` }], model: "0.mp4" },
    viewer: ["https://viewer.example/?of=ipfs://NewUriToReplace/0.mp4"],
  });
  const media = { "images/0.png": png, "images/1.png": png, "images/0.mp4": "video", "models/0.glb": "model" };
  const folder = await makeFolder({ ...media, "metadata/0.json": given });
  const { errors, files, documents } = await launched(folder);
  expect(errors).toEqual([]);
  expect(files[0]?.toSorted()).toEqual(Object.keys(media).toSorted());
  expect(JSON.parse(documents[0] ?? "")).toEqual(
    document("ipfs://images/0.png", {
      animation_url: "ipfs://images/0.mp4",
      description: 'See ipfs://images/1.png. And "ipfs://images/0.png"!',
      properties: {
        files: [{ uri: "ipfs://images/0.png" }, { uri: "ipfs://models/0.glb" }, { uri: `ipfs://${cid}` }],
        model: "0.mp4",
      },
      viewer: ["https://viewer.example/?of=ipfs://images/0.mp4"],
    }),
  );
});

test.each([
  ["animation_url", { animation_url: "0.mp4" }],
  ["properties.files.0.uri", { properties: { files: [{ uri: "ipfs://NewUriToReplace/0.glb" }] } }],
  ["description", { description: "at ipfs://NewUriToReplace/9.png" }],
  ["more.0.link", { more: [{ link: "ipfs://__CID__/9.png" }] }],
])("what is named and not there is refused, wherever it stands: %s", async (member, more) => {
  const folder = await makeFolder({ "images/0.png": png, "metadata/0.json": document("0.png", more) });
  expect((await launched(folder)).errors).toEqual([expect.stringContaining(`metadata/0.json: ${member} names`)]);
});

test("documents keep every byte but those of their links", async () => {
  const texts = [
    '{"id":9007199254740993,"a":1e400,"b":1.0,"c":-0,"image":"0.png"}',
    '{ "2": 1, "1": 2, "__proto__": { "x": 1 }, "a": 1, "a": 2, "image": "0.png" }\r\n',
    '{"name":"caf\\u00e9 \\ud800 \u00e9","image":"ipfs:\\/\\/NewUriToReplace\\/0.png","image":"0.png"}',
    `{"image":"0.png","image_data":"${"x\\n".repeat(1_000_000)}"}`,
  ];
  const documents = Object.fromEntries(texts.map((text, id) => [`metadata/${id}.json`, text]));
  const folder = await makeFolder({ "images/0.png": png, ...documents });
  const linked = await launched(folder);
  expect(linked.errors).toEqual([]);
  expect(linked.documents).toEqual(
    texts.map((text) => text.replace(/"(ipfs:[^"]*)?0\.png"/g, '"ipfs://images/0.png"')),
  );
});

test.each([
  ["Latin-1", Buffer.from('{"name":"Étoile","image":"0.png"}', "latin1")],
  ["UTF-16", Buffer.from('\ufeff{"name":"Étoile","image":"0.png"}', "utf16le")],
  [
    "half a character",
    Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xc3]), Buffer.from('","image":"0.png"}')]),
  ],
])("a document in another encoding is refused by name: %s", async (_, bytes) => {
  const folder = await makeFolder({ "images/0.png": png, "metadata/0.json": bytes });
  await expect(readFolder(folder)).rejects.toThrow("metadata/0.json is not in UTF-8");
});

test("a byte order mark is no part of a document, and none of launch.json", async () => {
  const text = JSON.stringify(document("0.png"));
  const folder = await makeFolder({
    ...{ "images/0.png": png, "metadata/0.json": `\ufeff${text}`, "launch.json": `\ufeff${JSON.stringify(settings)}` },
  });
  expect((await launched(folder)).documents).toEqual([text.replace("0.png", "ipfs://images/0.png")]);
  expect(await readSettings(folder)).toMatchObject(settings);
});

test("pictures whose size stands late or nowhere are pictures, and text is none", async () => {
  const segment = Buffer.alloc(65_002, 1);
  segment.set([0xff, 0xe2, 0xfd, 0xe8]);
  const frame = Buffer.from([0xff, 0xc0, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0, 0xff, 0xd9]);
  const jpeg = Buffer.concat([Buffer.from([0xff, 0xd8]), ...Array.from({ length: 10 }, () => segment), frame]);
  const pictures = {
    "images/0.jpg": jpeg,
    "images/1.svg": '<svg xmlns="http://www.w3.org/2000/svg"><path d=""/></svg>',
    "images/2.svg": '\ufeff<?xml version="1.0"?>\n<!-- a > b --><svg width="100%"/>',
  };
  const documents = { "metadata/0.json": document("0.jpg"), "metadata/1.json": document("1.svg") };
  const folder = await makeFolder({ ...pictures, ...documents, "metadata/2.json": document("2.svg") });
  expect((await launched(folder)).errors).toEqual([]);
  await writeFile(join(folder, "images/1.svg"), "<html><svg>");
  expect((await launched(folder)).errors).toEqual(["pictures that cannot be read: images/1.svg"]);
  expect((await launched(folder, {}, 1_000)).errors).toContainEqual(expect.stringContaining("the service takes 1000"));
});

test("linked files and folders are tokens too, and a link to nothing is refused", async () => {
  const far = await makeFolder({ "images/1.png": png, "metadata/1.json": document("1.png") });
  const folder = await makeFolder({ "images/0.png": png, "metadata/0.json": document("0.png") });
  await symlink(join(far, "images/1.png"), join(folder, "images/1.png"));
  await symlink(join(far, "metadata/1.json"), join(folder, "metadata/1.json"));
  await symlink(join(far, "images"), join(folder, "videos"));
  expect(await launched(folder)).toMatchObject({ errors: [], files: [["images/0.png"], ["images/1.png"]] });
  await symlink(join(far, "gone.json"), join(folder, "metadata/2.json"));
  await expect(readFolder(folder)).rejects.toThrow("metadata/2.json is a link to nothing");
});

test("a file whose name is not in UTF-8 is refused", async () => {
  const folder = await makeFolder({ "images/0.png": png, "metadata/0.json": document("0.png") });
  await writeFile(Buffer.concat([Buffer.from(`${folder}/images/caf`), Buffer.from([0xe9]), Buffer.from(".png")]), png);
  await expect(readFolder(folder)).rejects.toThrow("the name of images/caf\ufffd.png is not in UTF-8");
});

test("what systems and generators leave behind is left out with a warning", async () => {
  const junk = [
    "images/.DS_Store",
    "images/Thumbs.db",
    "metadata/desktop.ini",
    "metadata/collection.json",
    "metadata/_metadata.json",
  ];
  const folder = await makeFolder({
    ...{ "images/0.png": png, "metadata/0.json": document("0.png"), "metadata/__MACOSX/._0.json": "" },
    ...Object.fromEntries(junk.map((path) => [path, "[]"])),
  });
  const { errors, warnings } = await launched(folder);
  expect(errors).toEqual([]);
  expect(warnings).toHaveLength(1);
  for (const path of [...junk, "metadata/__MACOSX"]) expect(warnings[0]).toContain(path);
});

test("a deployment that came to nothing is over: the next request has another key, and nothing of the old one's", () => {
  const input = (idempotencyKey: string): DeployInput => ({ chain: "goerli", idempotencyKey });
  const begun: Step = { step: "begun", at: "", id: "L", service: "", account: "" };
  const intent = (key: string): Step => ({ step: "deploy_intent", at: "", input: input(key), predictedAddress: "" });
  const sent = (id: string): Step => ({ step: "deployment", id, transactionHash: null, predictedAddress: "" });
  const over = (state: string): Step => ({
    step: "deploy_ended",
    at: "",
    idempotencyKey: "launch-L-1",
    id: "a",
    state,
  });
  const open = [begun, intent("launch-L-1"), sent("a")];
  expect([openIntent({ steps: open })?.input, openDeployment({ steps: open })?.id]).toEqual([input("launch-L-1"), "a"]);
  const refused: Step = { step: "deploy_refused", idempotencyKey: "launch-L-1", reason: "" };
  for (const end of [over("CANCELLED"), over("EXPIRED"), over("FAILED_ONCHAIN"), refused]) {
    const steps = [...open, end];
    expect([openIntent({ steps }), openDeployment({ steps })]).toEqual([undefined, undefined]);
    expect(nextDeploymentKey({ steps })).toBe("launch-L-2");
    // Its answer is not known: the answer to the first one is not its own.
    const again = [...steps, intent("launch-L-2")];
    expect([openIntent({ steps: again })?.input, openDeployment({ steps: again })]).toEqual([
      input("launch-L-2"),
      undefined,
    ]);
    expect(openDeployment({ steps: [...again, sent("b")] })?.id).toBe("b");
  }
});

test("a lock with one's own process number is an earlier container's, unless this process holds it", async () => {
  const folder = temporaryFolder();
  const lock = `${journalPath(folder)}.lock`;
  await writeFile(lock, String(process.pid));
  const journal = Journal.open(folder);
  expect(() => Journal.open(folder)).toThrow("launches this folder already");
  journal.close();
  await writeFile(lock, String(process.ppid));
  expect(() => Journal.open(folder)).toThrow(`process ${process.ppid} launches`);
  await writeFile(lock, "");
  Journal.open(folder).close();
  await rm(journal.path);
});
