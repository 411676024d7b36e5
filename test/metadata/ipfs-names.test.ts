import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Hono } from "hono";
import { bases } from "multiformats/basics";
import { CID } from "multiformats/cid";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readPreview } from "../../src/collections/collection-preview.ts";
import { GatewayBlocks } from "../../src/metadata/read/gateway-blocks.ts";
import { readDocument, type Sources } from "../../src/metadata/read/read-document.ts";
import { ownCopy } from "../../src/metadata/read/read-token.ts";
import { createFetcher } from "../../src/outbound/fetcher.ts";
import { createGateway } from "../../src/server/gateway.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { openReadApis, type ReadApis } from "../setup/read-apis.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const folder = temporaryFolder();
const fetcher = createFetcher({ allowPrivate: false });
let database: TestDatabase;
let apis: ReadApis;
let sources: Sources;
let directory: string;

beforeAll(async () => {
  database = await createTestDatabase();
  apis = openReadApis(database, { env: { MINTYARD_DATA_DIR: folder } });
  const { content } = apis.services;
  sources = { content, gateways: [], blocks: new GatewayBlocks(fetcher), fetcher };
  directory = await content.addDirectory(files(), async (_transaction, { cid }) => cid);
});
afterAll(async () => {
  await apis?.services.content.close();
  await fetcher.close();
  await database?.drop();
});

async function* files() {
  for (const name of ["Wookz#525.json", "Odd", "Odd#1.json", "Who?.json", "Who", "50%25.json", "a b.json", "100%.json"])
    yield { names: [name], bytes: Buffer.from(`{"name":${JSON.stringify(name)}}`), contentType: "application/json" };
  const picture = `{"image":"ipfs://${await store("picture")}?x=1"}`;
  yield { names: ["shown#1.json"], bytes: Buffer.from(picture), contentType: "application/json" };
}

async function store(content: string | Buffer): Promise<string> {
  async function* stream() {
    yield Buffer.from(content);
  }
  return await apis.services.content.addFile({ stream: stream() }, async (_transaction, { cid }) => cid);
}

async function nameAt(uri: string): Promise<unknown> {
  const answer = await readDocument(sources, uri, new AbortController().signal);
  return "fault" in answer ? answer.fault : JSON.parse(Buffer.from(answer.bytes).toString()).name;
}

test.each([
  ["Wookz#525.json", "Wookz#525.json"],
  ["Odd#1.json", "Odd#1.json"],
  ["Who?.json", "Who?.json"],
  ["Odd#2.json", "Odd"],
  ["Who?token=1", "Who"],
  ["Odd%231.json", "Odd#1.json"],
  ["50%25.json", "50%25.json"],
  ["100%.json", "100%.json"],
  ["100%25.json", "100%.json"],
  ["a%20b.json", "a b.json"],
  ["none#1.json", "ipfs_not_found"],
])("ipfs://…/%s is %s", async (path, name) => {
  expect(await nameAt(`ipfs://${directory}/${path}`)).toBe(name);
});

test("in the URL of a gateway a query and a fragment come off first, and are taken for a name where that is nothing", async () => {
  expect(await nameAt(`https://ipfs.io/ipfs/${directory}/Odd#1.json`)).toBe("Odd");
  expect(await nameAt(`https://ipfs.io/ipfs/${directory}/Wookz#525.json`)).toBe("Wookz#525.json");
});

test("our copy of a file and the preview of a collection are found by such names", async () => {
  const odd = await apis.services.content.resolve(directory, ["Odd#1.json"]);
  expect(await ownCopy(sources, `ipfs://${directory}/Odd#1.json`)).toBe(odd?.cid);
  // The picture's URI has a query, which is no part of the address that we write.
  const preview = await readPreview(apis.services, `ipfs://${directory}/shown#1.json`);
  expect(preview).toMatchObject({ image: `/ipfs/${await store("picture")}` });
});

test("a preview has what moves and runs no scripts, from this server alone", async () => {
  const film = await store(await readFile(join(import.meta.dirname, "../fixtures/film.webm")));
  const gif = await store("GIF89a\x08\0\x08\0\0\0\0!\xff\x0bNETSCAPE2.0\x03\x01\0\0\0");
  const page = await store("<!DOCTYPE html><script>alert(1)</script>");
  const drawing = await store('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
  const still = `ipfs://${await store("picture")}`;
  const of = async (link: unknown, image = still) => {
    const uri = await store(JSON.stringify({ image, animation_url: link }));
    const preview = await readPreview(apis.services, `ipfs://${uri}`);
    return preview && [preview.animation, preview.interactive];
  };
  const played = (cid: string, kind: string) => [{ kind, path: `/ipfs/${cid}` }, false];
  expect(await of(`ipfs://${film}`)).toEqual(played(film, "video"));
  expect(await of(`https://elsewhere.example/ipfs/${film}`)).toEqual(played(film, "video"));
  expect(await of(`ipfs://${gif}`)).toEqual(played(gif, "image"));
  expect(await of(undefined, `ipfs://${gif}`)).toEqual(played(gif, "image"));
  expect(await of(`ipfs://${page}`)).toEqual([null, true]);
  async function* website() {
    yield { names: ["index.html"], bytes: Buffer.from("<!DOCTYPE html>"), contentType: "text/html" };
  }
  const site = await apis.services.content.addDirectory(website(), async (_transaction, { cid }) => cid);
  expect(await of(`ipfs://${site}`)).toEqual([null, true]);
  const refused = [
    `ipfs://${directory}`,
    `ipfs://${drawing}`,
    still,
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
  ];
  refused.push("http://elsewhere.example/film.mp4", `data:video/webm;base64,${film}`, "ipfs://../../console");
  for (const link of [...refused, 7, null, {}]) expect([link, await of(link)]).toEqual([link, [null, false]]);
});

test("the gateway and the reader take a CID in every base", async () => {
  const gateway = new Hono().route("/ipfs", createGateway(apis.services));
  for (const base of Object.values(bases)) {
    if (base.name === "identity") continue;
    const text = encodeURIComponent(CID.parse(directory).toString(base as never));
    const answer = await gateway.request(`/ipfs/${text}/Odd%231.json`, {}, {});
    expect([base.name, answer.status]).toEqual([base.name, 200]);
    expect([base.name, await nameAt(`ipfs://${text}/Odd#1.json`)]).toEqual([base.name, "Odd#1.json"]);
  }
});
