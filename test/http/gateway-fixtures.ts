import { CarWriter } from "@ipld/car/writer";
import * as dagCbor from "@ipld/dag-cbor";
import * as dagJson from "@ipld/dag-json";

import { type ImporterOptions, importer } from "ipfs-unixfs-importer";
import { fixedSize } from "ipfs-unixfs-importer/chunker";
import { CID } from "multiformats/cid";
import { identity } from "multiformats/hashes/identity";
import { sha256 } from "multiformats/hashes/sha2";
import type { Services } from "../../src/services.ts";

export interface Block {
  cid: CID;
  bytes: Uint8Array;
}

export interface Tree {
  root: CID;
  /** By path; "" is the root. */
  cids: ReadonlyMap<string, CID>;
  blocks: readonly Block[];
}

export const text = (value: string) => new TextEncoder().encode(value);
const rawCodec = 0x55;
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
/** 1,026 bytes in pieces of 256. */
export const multi = text(Array.from({ length: 1_026 }, (_, at) => String.fromCharCode(97 + (at % 23))).join(""));
export const site = "<!doctype html><link rel=stylesheet href=style.css><script>alert(1)</script>";
export const files: Record<string, Uint8Array> = {
  "hello.txt": text("hello to the gateway, 31 bytes\n"),
  "sub/ascii.txt": text("goodbye to the gateway\n"),
  "sub/multi.txt": multi,
  "sub/deep/down.txt": text("down here\n"),
  "ą/ę/ź.txt": text("a name in UTF-8\n"),
  "100%2C+=&.txt": text("a name that looks encoded\n"),
  "style.css": text("body{color:red}\n"),
  "script.js": text("alert(document.domain)\n"),
  "page.html": text("<!doctype html><script>alert(1)</script>\n"),
  "drawing.svg": text('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>\n'),
  "picture.png": png,
  "data.json": text('{"name":"One"}\n'),
  "bytes.bin": Uint8Array.from([0, 1, 2, 3, 255, 254]),
  "empty.txt": text(""),
  "site/index.html": text(site),
  "site/style.css": text("body{}\n"),
};

/** A tree as other programs make it: small pieces, folders in folders. */
async function treeOf(content: Record<string, Uint8Array>, options: ImporterOptions = {}): Promise<Tree> {
  const blocks = new Map<string, Block>();
  const put = async (cid: CID, bytes: unknown) => {
    blocks.set(cid.toString(), { cid, bytes: bytes as Uint8Array });
    return cid;
  };
  const cids = new Map<string, CID>();
  const source = Object.entries(content).map(([path, bytes]) => ({ path: `all/${path}`, content: bytes }));
  const chunker = fixedSize({ chunkSize: 256 });
  for await (const { cid, path } of importer(source, { put }, { cidVersion: 1, rawLeaves: true, chunker, ...options }))
    cids.set((path ?? "").replace(/^all\/?/, ""), cid);
  const root = cids.get("");
  if (!root) throw new Error("no root");
  return { root, cids, blocks: [...blocks.values()] };
}

async function store(services: Services, { root, blocks }: Tree): Promise<void> {
  const { writer, out } = CarWriter.create([root]);
  const writing = (async () => {
    for (const block of blocks) await writer.put(block);
    await writer.close();
  })();
  await services.content.importCar(out);
  await writing;
}

/** Bytes that are stored as a file; a CID of any codec leads to them. */
async function storeDocument(services: Services, codec: number, bytes: Uint8Array): Promise<Block> {
  async function* stream() {
    yield bytes;
  }
  await services.content.addFile({ stream: stream() }, async () => undefined);
  return { cid: CID.createV1(codec, await sha256.digest(bytes)), bytes };
}

export type Fixtures = Awaited<ReturnType<typeof storeFixtures>>;

/** What the checks of the gateway's specifications ask for. */
export async function storeFixtures(services: Services) {
  const tree = await treeOf(files);
  const names = Array.from({ length: 40 }, (_, at) => [`${at}.txt`, text(`file ${at}\n`)] as const);
  const sharded = await treeOf(
    { ...Object.fromEntries(names), "multi.txt": multi },
    { shardSplitThresholdBytes: 0, shardSplitStrategy: "block-bytes" },
  );
  const twice = await treeOf({
    "a.txt": text("twice\n"),
    "b.txt": text("twice\n"),
    "c.txt": text("once\n"),
    // Two of its three pieces are equal.
    "d.txt": text(`${"x".repeat(512)}${"y".repeat(256)}`),
  });
  const gap = await treeOf({ "gap.txt": text(`${"a".repeat(256)}${"b".repeat(256)}${"c".repeat(256)}`) });
  for (const one of [tree, sharded, twice, gap]) await store(services, one);
  // The middle piece is lost.
  const lost = gap.blocks.find(({ bytes }) => bytes.length === 256 && bytes[0] === "b".charCodeAt(0));
  if (!lost) throw new Error("no middle");
  await services.db
    .deleteFrom("service.block")
    .where("multihash", "=", Buffer.from(lost.cid.multihash.bytes))
    .execute();

  const at = (of: Tree, path: string) => {
    const cid = of.cids.get(path);
    if (!cid) throw new Error(`no ${path}`);
    return cid;
  };
  const linked = {
    hello: "world",
    big: 2 ** 40,
    list: [1, null],
    file: at(tree, "hello.txt"),
    inner: { dir: tree.root },
  };
  const plain = { name: "One", of: [1, 2] };
  const documents = {
    "dag-json": await storeDocument(services, dagJson.code, dagJson.encode(linked)),
    "dag-cbor": await storeDocument(services, dagCbor.code, dagCbor.encode(linked)),
    json: await storeDocument(services, 0x0200, text('{"name": "One",  "of": [1, 2]}')),
    cbor: await storeDocument(services, 0x51, dagCbor.encode(plain)),
    large: await storeDocument(services, dagJson.code, text(JSON.stringify("x".repeat(270_000)))),
    broken: await storeDocument(services, dagJson.code, text('{"name": ')),
  };
  const toDocuments = { outer: documents["dag-cbor"].cid, other: { json: documents["dag-json"].cid } };
  const chain = await storeDocument(services, dagCbor.code, dagCbor.encode(toDocuments));
  return {
    tree,
    sharded,
    twice,
    gap,
    documents,
    linked,
    plain,
    chain,
    png: at(tree, "picture.png"),
    hello: at(tree, "hello.txt"),
    multi: at(tree, "sub/multi.txt"),
    probe: CID.createV1(rawCodec, identity.digest(text(""))),
    inline: CID.createV1(rawCodec, identity.digest(text("hello"))),
    lost: lost.cid,
    multiV0: CID.createV0(at(tree, "sub/multi.txt").multihash as never).toString(),
    absent: CID.createV1(rawCodec, await sha256.digest(text("nobody stored this"))),
    at,
    /** Of a file in pieces, in their order. */
    pieces: multiPieces(tree),
  };
}

/** The blocks of `sub/multi.txt` below its root. */
function multiPieces({ blocks }: Tree): CID[] {
  const pieces: CID[] = [];
  for (let from = 0; from < multi.length; from += 256) {
    const piece = Buffer.from(multi.subarray(from, from + 256));
    const block = blocks.find(({ bytes }) => piece.equals(bytes));
    if (!block) throw new Error("no piece");
    pieces.push(block.cid);
  }
  return pieces;
}
