import { Hono } from "hono";
import { bases } from "multiformats/basics";
import { CID } from "multiformats/cid";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readPreview } from "../../src/collections/public-sale.ts";
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

async function store(text: string): Promise<string> {
  async function* stream() {
    yield Buffer.from(text);
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
