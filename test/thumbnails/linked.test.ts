import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import sharp from "sharp";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { LinkedPictures } from "../../src/metadata/pictures/linked-pictures.ts";
import { createFetcher, type Fetcher } from "../../src/outbound/fetcher.ts";
import { listen, mintOf, type Serving } from "../metadata/strange-server.ts";
import { ApiServer } from "../setup/api-server.ts";
import { addressOf } from "../setup/nft-fixture.ts";
import { wait } from "../setup/wait.ts";
import { ask, askUntilMade, upload } from "./ask.ts";
import { innocent, noise, plain } from "./pictures.ts";

const contract = addressOf(0xa7);
const dayMs = 86_400_000;
const mebibyte = 1_048_576;

let api: ApiServer;
let key: string;
let elsewhere: Serving;
const [red, blue] = ["#c02040", "#2040c0"];
const pictures: Record<string, Buffer> = {};
/** What the server of others is asked, in order, with what is known already. */
const asked: { url: string; etag: string | undefined }[] = [];
let changing = red;
let isHanging = true;
let sent = 0;

function serve(request: IncomingMessage, response: ServerResponse): void {
  const url = request.url ?? "";
  asked.push({ url, etag: request.headers["if-none-match"] });
  response.on("error", () => undefined);
  if (url.startsWith("/red")) setTimeout(() => response.end(pictures[red]), 200);
  else if (url === "/cookie") response.writeHead(200, { "set-cookie": "who=you" }).end(pictures[red]);
  else if (url === "/changing") {
    const etag = `"${changing}"`;
    if (changing === "") response.writeHead(500).end();
    else if (request.headers["if-none-match"] === etag) response.writeHead(304).end();
    else response.writeHead(200, { etag }).end(pictures[changing]);
  } else if (url === "/inside") response.writeHead(302, { location: `${elsewhere.url}/red` }).end();
  else if (url === "/html") response.end("<!doctype html><p>no picture</p>");
  else if (url === "/announced")
    response.writeHead(200, { "content-length": 40 * mebibyte }).write(Buffer.alloc(65_536));
  else if (url === "/endless") {
    const pour = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536))) sent += 65_536;
    };
    response.on("drain", pour);
    pour();
  } else if (url === "/slow") {
    const timer = setInterval(() => response.write("x"), 500);
    response.on("close", () => clearInterval(timer));
  } else if (!url.startsWith("/hang") || !isHanging) response.writeHead(404).end();
}

/** Addresses of this machine are reached where a token names them; redirects are guarded as ever. */
function trustingLinks(fetcher: Fetcher): Fetcher {
  return { ...fetcher, fetch: (url, options) => fetcher.fetch(url, { ...options, trusted: true }) };
}

beforeAll(async () => {
  for (const colour of [red, blue]) pictures[colour] = await plain(700, 350, colour).png().toBuffer();
  elsewhere = await listen(createServer(serve));
  api = await ApiServer.start({ RATE_LIMITS: "off" });
  ({ key } = await api.account("enterprise"));
});
afterAll(async () => {
  await api?.close();
  await elsewhere?.close();
});
afterEach(() => {
  vi.useRealTimers();
});

let tokens = 0n;

/** A token in the index whose metadata has this picture. @returns the path of its preview behind the width. */
async function token(image: string | null, ownCopy: string | null = null, of = contract): Promise<string> {
  tokens += 1n;
  await api.nfts.add([mintOf(of, tokens)]);
  await api.database.pool.query(
    `INSERT INTO service.token_metadata (chain_id, contract, token_id, status, image, cached_image, fetched_at)
     VALUES (31337, $1, $2, 'fresh', $3, $4, now())`,
    [Buffer.from(of.slice(2), "hex"), String(tokens), image, ownCopy],
  );
  return `nfts/goerli/${of}/${tokens}`;
}

const linkTo = (path: string) => token(`${elsewhere.url}${path}`);
const fetches = (path: string) => asked.filter(({ url }) => url === path).length;
const patiently = (path: string) =>
  wait(`a preview ${path}`, () => ask(api, path), { until: ({ status }) => status !== 503 });

/** Decoded by the library itself: size, and how far the pixel in the middle is from a colour. */
async function seen(answer: Response, colour: string) {
  const image = sharp(Buffer.from(await answer.arrayBuffer()));
  const { format, width, height } = await image.metadata();
  const { data, info } = await image.raw().toBuffer({ resolveWithObject: true });
  const at = (Math.floor(info.height / 2) * info.width + Math.floor(info.width / 2)) * info.channels;
  const far = [1, 3, 5].map((from, channel) =>
    Math.abs((data[at + channel] ?? 0) - Number.parseInt(colour.slice(from, from + 2), 16)),
  );
  return { format, width, height, isColour: Math.max(...far) <= 8 };
}

const small = { format: "webp", width: 256, height: 128, isColour: true };

async function refusal(path: string): Promise<[number, string]> {
  const answer = await patiently(`256/${path}`);
  expect(answer.headers.get("cache-control")).toBe("no-store");
  return [answer.status, await answer.text()];
}

test("a link into the operator's network is followed for nobody", async () => {
  expect(await refusal(await linkTo("/red"))).toEqual([422, expect.stringContaining("address_refused")]);
  expect(asked).toEqual([]);
  // From here on the server of this test stands for one elsewhere.
  await api.services.linkedPictures.close();
  const fetcher = trustingLinks(createFetcher({ allowPrivate: false }));
  Object.assign(api.services, { linkedPictures: new LinkedPictures(api.services.thumbnails, fetcher) });
});

test("a picture at a link becomes a WebP of its colour, fetched once for twenty visitors and for a day", async () => {
  const path = await linkTo("/red/shared");
  const answers = await Promise.all(Array.from({ length: 20 }, () => patiently(`256/${path}`)));
  for (const answer of answers) expect([answer.status, await seen(answer, red)]).toEqual([200, small]);
  expect(fetches("/red/shared")).toBe(1);
  const again = await ask(api, `256/${path}`);
  expect(Object.fromEntries(again.headers)).toMatchObject({
    ...{ "content-type": "image/webp", "cache-control": "public, max-age=86400" },
    ...{ "x-content-type-options": "nosniff", "content-security-policy": "sandbox; default-src 'none'" },
  });
  const etag = again.headers.get("etag") ?? "";
  const known = await ask(api, `256/${path}`, { headers: { "If-None-Match": etag } });
  expect([known.status, await known.text()]).toEqual([304, ""]);
  expect((await ask(api, `256/${path}`, { method: "HEAD" })).status).toBe(200);
  expect(fetches("/red/shared")).toBe(1);
  // The same bytes at another link are the same picture; nothing is made again.
  const made = api.services.thumbnails.made;
  const other = await patiently(`256/${await linkTo("/cookie")}`);
  expect([other.status, other.headers.get("etag"), other.headers.get("set-cookie")]).toEqual([200, etag, null]);
  expect(api.services.thumbnails.made).toBe(made);
});

test("a picture that changes is seen a day later; one that stays is not sent again, and one that is away stays", async () => {
  const path = await linkTo("/changing");
  const now = async (colour: string) => expect(await seen(await patiently(`256/${path}`), colour)).toEqual(small);
  await now(red);
  changing = blue;
  await now(red);
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(Date.now() + dayMs + 1_000);
  await now(blue);
  expect(fetches("/changing")).toBe(2);
  vi.setSystemTime(Date.now() + dayMs + 1_000);
  await now(blue);
  await now(blue);
  expect(asked.filter(({ url }) => url === "/changing").map(({ etag }) => etag)).toEqual([
    ...[undefined, `"${red}"`, `"${blue}"`],
  ]);
  vi.setSystemTime(Date.now() + dayMs + 1_000);
  changing = "";
  await now(blue);
  await now(blue);
  expect(fetches("/changing")).toBe(4);
});

test("drawings and bitmaps in data: URIs are decoded here, however they are written", async () => {
  const drawing = innocent.toString();
  const uris = [
    `data:image/svg+xml;base64,${innocent.toString("base64")}`,
    `data:image/svg+xml;utf8,${drawing}`,
    `data:image/svg+xml,${encodeURIComponent(drawing)}`,
    `data:image/png;base64,${pictures[red]?.toString("base64")}`,
  ];
  for (const uri of uris) {
    const answer = await patiently(`256/${await token(uri)}`);
    expect([uri.slice(0, 30), answer.status]).toEqual([uri.slice(0, 30), 200]);
    expect(await seen(answer, red)).toMatchObject({ format: "webp", width: 256, isColour: true });
  }
  expect((await refusal(await token("data:image/png;base64,")))[0]).toBe(422);
  expect((await refusal(await token(`data:image/png,${"a".repeat(1_100_000)}`)))[0]).toBe(422);
});

test("a redirect into the operator's network is refused, and so is what is no picture, too large or too slow", async () => {
  const before = fetches("/red");
  expect(await refusal(await linkTo("/inside"))).toEqual([422, expect.stringContaining("address_refused")]);
  expect(fetches("/red")).toBe(before);
  expect(await refusal(await linkTo("/html"))).toEqual([422, expect.stringContaining("in no format")]);
  expect(await refusal(await linkTo("/announced"))).toEqual([422, expect.stringContaining("33554432 bytes")]);
  expect(await refusal(await linkTo("/endless"))).toEqual([422, expect.stringContaining("33554432 bytes")]);
  // What lies in the buffers of both ends comes on top.
  expect(sent).toBeLessThan(39 * mebibyte);
  expect(await refusal(await linkTo("/slow"))).toEqual([422, expect.stringContaining("fetch_timeout")]);
  // What failed is not tried again at once, whichever token names it.
  for (const path of ["/slow", "/announced", "/inside", "/html"]) {
    expect((await refusal(await linkTo(path)))[0]).toBe(422);
    expect(fetches(path)).toBe(1);
  }
  expect((await refusal(await token(`ftp://${elsewhere.url.slice(7)}/red`)))[0]).toBe(422);
});

test("content of this installation and of IPFS is at its own preview", async () => {
  const cid = await upload(api, key, await noise(500, 250).png().toBuffer());
  const leads = async (path: string) => {
    const answer = await ask(api, `128/${path}`);
    expect([answer.status, answer.headers.get("cache-control")]).toEqual([307, "public, max-age=300"]);
    return answer.headers.get("location");
  };
  expect(await leads(await token("https://gateway.example/ipfs/x", cid))).toBe(`/thumbnails/128/${cid}`);
  expect(await leads(await token(`ipfs://${cid}`))).toBe(`/thumbnails/128/${cid}`);
  const unknown = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku";
  expect(await leads(await token(`ipfs://${unknown}/a b.png`))).toBe(`/thumbnails/128/${unknown}/a%20b.png`);
  expect((await askUntilMade(api, `128/${cid}`)).status).toBe(200);
  for (const link of ["ipfs://nothing", `ipfs://${unknown}/../../../status`])
    expect((await refusal(await token(link)))[0]).toBe(422);
});

test("nothing is fetched but what an indexed token names", async () => {
  await linkTo("/red");
  const before = asked.length;
  const unknown = `nfts/goerli/${contract}/999999`;
  // Metadata alone makes no token: a reorganisation may have taken it away.
  await api.database.pool.query(
    `INSERT INTO service.token_metadata (chain_id, contract, token_id, status, image) VALUES (31337, $1, 888888, 'fresh', $2)`,
    [Buffer.from(contract.slice(2), "hex"), `${elsewhere.url}/red/lost`],
  );
  const link = encodeURIComponent(`${elsewhere.url}/red/foreign`);
  const unnamed = await token(null);
  const statuses = {
    [unknown]: 404,
    [`nfts/goerli/${contract}/888888`]: 404,
    [`nfts/ethereum/${contract}/1`]: 404,
    [unnamed]: 404,
    [`${unnamed}?url=${link}`]: 404,
    [`nfts/goerli/${contract}/${link}`]: 422,
    [`nfts/goerli/${link}/1`]: 422,
    [`nfts/${link}/${contract}/1`]: 422,
    [`nfts/goerli/${contract}/${2n ** 256n}`]: 422,
    [`nfts/goerli/${contract}`]: 422,
    [link]: 422,
  };
  for (const [path, status] of Object.entries(statuses))
    expect([path, (await ask(api, `256/${path}`)).status]).toEqual([path, status]);
  expect((await ask(api, `257/${unknown}`)).status).toBe(422);
  expect((await ask(api, `256/${unknown}`, { method: "POST" })).status).toBe(405);
  expect(asked.length).toBe(before);
});

test("a client that asks for more than its part is told to come again, and led nowhere", async () => {
  const paths: string[] = [];
  for (let at = 0; at < 70; at += 1) paths.push(await linkTo(`/hang/${at}`));
  const answers = paths.map((path) => ask(api, `256/${path}`));
  const first = await Promise.race(answers);
  expect([first.status, first.headers.get("retry-after"), first.headers.get("location")]).toEqual([503, "5", null]);
  expect(first.headers.get("cache-control")).toBe("no-store");
  await wait("three pictures under way", () => asked.filter(({ url }) => url.startsWith("/hang")).length === 3);
  // Those that are content of this installation do not wait for a server that hangs.
  const drawn = await patiently(`512/${await token(`data:image/svg+xml;base64,${innocent.toString("base64")}`)}`);
  expect(drawn.status).toBe(200);
  isHanging = false;
  await api.services.linkedPictures.close();
  Object.assign(api.services, {
    linkedPictures: new LinkedPictures(api.services.thumbnails, trustingLinks(createFetcher({ allowPrivate: false }))),
  });
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([422, 503]));
  expect(statuses.filter((status) => status === 503)).toHaveLength(3);
});

test("GraphQL names the preview of every kind of picture, in lists as by itself, and none where there is none", async () => {
  const long = `data:image/svg+xml,${"a".repeat(20_000)}`;
  const kinds = ["https://a.example/1", "http://a.example/1", "HTTPS://a.example/1", "ar://abc", "ipfs://x", long];
  const named = [...kinds, "data:,", "ftp://a.example/1", "a picture", "//a.example/1", `x${long}`, "", null];
  const other = addressOf(0xb8);
  const base = `${api.services.config.publicUrl}/thumbnails/512`;
  const expected: (string | null)[] = [];
  for (const [at, image] of named.entries()) {
    const path = await token(image, null, other);
    expected.push(at <= kinds.length ? `${base}/${path}` : null);
  }
  await token("https://a.example/1", "bafycopy", other);
  expected.push(`${base}/bafycopy`);
  const ids = expected.map((_, at) => String(Number(tokens) - expected.length + 1 + at));
  const one = (id: string) =>
    `t${id}: nft(chain: "goerli", contract: "${other}", tokenId: "${id}") { thumbnailUrl cachedFileUrl }`;
  const { body: single } = await api.graphql(key, `{ ${ids.map(one).join(" ")} }`);
  expect(ids.map((id) => single.data[`t${id}`].thumbnailUrl)).toEqual(expected);
  const copies = ids.map((id) => single.data[`t${id}`].cachedFileUrl !== null);
  expect(copies).toEqual(ids.map((_, at) => at === named.length));
  const { body } = await api.graphql(
    key,
    `{ contract(chain: "goerli", address: "${other}") { nfts(first: 50) { nodes { tokenId thumbnailUrl } } } }`,
  );
  const listed = body.data.contract.nfts.nodes as { tokenId: string; thumbnailUrl: string | null }[];
  expect(Object.fromEntries(listed.map(({ tokenId, thumbnailUrl }) => [tokenId, thumbnailUrl]))).toEqual(
    Object.fromEntries(ids.map((id, at) => [id, expected[at]])),
  );
});

test("without a cache there are no previews of links, and none is named", async () => {
  const off = await ApiServer.start({ THUMBNAIL_CACHE_BYTES: "0" });
  const account = await off.account("enterprise");
  await off.nfts.add([mintOf(contract, 1n)]);
  await off.database.pool.query(
    "INSERT INTO service.token_metadata (chain_id, contract, token_id, status, image) VALUES (31337, $1, 1, 'fresh', $2)",
    [Buffer.from(contract.slice(2), "hex"), `${elsewhere.url}/red/off`],
  );
  const answer = await ask(off, `256/nfts/goerli/${contract}/1`);
  expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining("no previews")]);
  const query = `{ nft(chain: "goerli", contract: "${contract}", tokenId: "1") { thumbnailUrl fileUrl } }`;
  const { body } = await off.graphql(account.key, query);
  expect(body.data.nft).toEqual({ thumbnailUrl: null, fileUrl: `${elsewhere.url}/red/off` });
  expect(fetches("/red/off")).toBe(0);
  await off.close();
});
