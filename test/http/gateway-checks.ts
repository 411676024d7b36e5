import { encode as encodeCbor } from "@ipld/dag-cbor";
import { encode as encodeJson } from "@ipld/dag-json";
import { decode as decodePb } from "@ipld/dag-pb";
import { bases as allBases } from "multiformats/basics";
import { CID } from "multiformats/cid";
import { type Block, type Fixtures, files, multi, site, text } from "./gateway-fixtures.ts";

/** What must be true of an answer. */
export interface Check {
  /** Of the specification, as docs/gateway.md counts them. */
  section: string;
  what: string;
  /** Below `/ipfs/`. */
  path: string;
  method?: string;
  headers?: Record<string, string>;
  status?: number | readonly number[];
  /** Null: the header is not there. */
  shows?: Record<string, string | RegExp | null>;
  /** Below `/ipfs/`: its tag is another one. */
  otherTag?: string;
  body?: Uint8Array | RegExp | { json: unknown } | { cbor: unknown } | CarBody;
  /** Why this is not held. A check that holds all the same fails. */
  not?: string;
}

interface CarBody {
  /** Blocks in their order; as a set where `anyOrder` is set. */
  car: readonly CID[];
  roots?: readonly CID[];
  anyOrder?: boolean;
}

const rawType = "application/vnd.ipld.raw";
const carType = "application/vnd.ipld.car";
const jsonType = "application/vnd.ipld.dag-json";
const cborType = "application/vnd.ipld.dag-cbor";
const immutable = "public, max-age=29030400, immutable";
const accept = (type: string) => ({ Accept: type });

const noIpns = "no /ipns: an installation serves what was stored in it, by immutable CID";
const noTar = "tar is not made (406): a CAR has the whole tree, and clients can check it";
const noScripts =
  "what a browser could run is a download, whatever the URL says: it is content of third parties on the console's origin";
const alarm =
  "an outsider chooses the CID, and answers of 5xx raise the operator's alert (MintyardServerErrors); 400 and 404 say it";

const listed = (checks: readonly Omit<Check, "section">[], section: string): Check[] =>
  checks.map((check) => ({ section, ...check }));

const { identity: _noText, ...bases } = allBases;

const toCodec = (cid: CID, codec: number) => CID.createV1(codec, cid.multihash);

/** Every check, by the sections of specs.ipfs.tech: Path Gateway and Trustless Gateway. */
export function gatewayChecks(f: Fixtures): Check[] {
  const { tree, documents } = f;
  const root = `${tree.root}`;
  const hello = files["hello.txt"] as Uint8Array;
  const block = (cid: CID, from = [tree, f.sharded, f.twice]) => {
    const found = from.flatMap(({ blocks }) => blocks).find((one: Block) => one.cid.equals(cid));
    if (!found) throw new Error(`no block ${cid}`);
    return found.bytes;
  };
  const sub = f.at(tree, "sub");
  const rootBlock = block(tree.root);
  const multiBlock = block(f.multi);
  const shardMulti = f.at(f.sharded, "multi.txt");
  const json = documents["dag-json"];
  const cbor = documents["dag-cbor"];
  const logical = { Links: decodePb(rootBlock).Links, Data: decodePb(rootBlock).Data };

  return [
    ...listed(
      [
        { what: "a file by its CID", path: `${f.hello}`, status: 200, body: hello },
        { what: "a file in pieces", path: `${f.multi}`, status: 200, body: multi },
        { what: "a file by its path", path: `${root}/hello.txt`, status: 200, body: hello },
        { what: "a file in a folder", path: `${root}/sub/deep/down.txt`, status: 200, body: /^down here/ },
        { what: "a name in UTF-8", path: `${root}/%C4%85/%C4%99/%C5%BA.txt`, status: 200, body: /UTF-8/ },
        { what: "a name that looks encoded", path: `${root}/100%252C+=&.txt`, status: 200, body: /looks encoded/ },
        { what: "the same, every mark encoded", path: `${root}/100%252C%2B%3D%26.txt`, status: 200 },
        { what: "an empty file", path: `${root}/empty.txt`, status: 200, body: text("") },
        { what: "a file of a sharded directory", path: `${f.sharded.root}/17.txt`, status: 200, body: /^file 17\n$/ },
        {
          what: "a file in pieces of a sharded directory",
          path: `${f.sharded.root}/multi.txt`,
          status: 200,
          body: multi,
        },
        { what: "a block that is a file, by another codec's CID", path: `${json.cid}`, status: 200 },
        { what: "a query that means nothing", path: `${f.hello}?whatever=1`, status: 200, body: hello },
        { what: "POST", path: root, method: "POST", status: 405, shows: { allow: /GET, HEAD/ } },
        { what: "PUT", path: root, method: "PUT", status: 405 },
        { what: "DELETE", path: root, method: "DELETE", status: 405 },
      ],
      "GET",
    ),
    ...listed(
      [
        { what: "a file", path: `${f.hello}`, shows: { "content-length": "31", "content-type": /^text\/plain/ } },
        { what: "a file by its path", path: `${root}/sub/multi.txt`, shows: { "content-length": "1026" } },
        { what: "an index page", path: `${root}/site/`, shows: { "content-type": /^text\/html/ } },
        { what: "a listing", path: `${root}/`, shows: { etag: /DirIndex/ } },
        { what: "a block", path: `${f.hello}?format=raw`, shows: { "content-type": rawType, "content-length": "31" } },
        { what: "a CAR", path: `${root}?format=car`, shows: { "content-type": /ipld\.car; version=1/ } },
        { what: "a CAR of a path", path: `${root}/sub?format=car`, shows: { etag: /"/ } },
        {
          what: "dag-json",
          path: `${root}?format=dag-json`,
          shows: { "content-type": jsonType, "content-length": /\d/ },
        },
        { what: "dag-cbor", path: `${cbor.cid}`, shows: { "content-type": cborType, "content-length": /\d/ } },
        {
          what: "a range",
          path: `${f.hello}`,
          headers: { Range: "bytes=0-3" },
          status: 206,
          shows: { "content-length": "4" },
        },
        { what: "what is not here", path: `${f.absent}`, status: 404 },
        { what: "a block that is not here", path: `${f.absent}?format=raw`, status: 404 },
        { what: "a CAR that is not here", path: `${f.absent}?format=car`, status: 404 },
        { what: "no CID", path: "nothing", status: 400 },
      ].map((check) => ({ status: 200, ...check, method: "HEAD", body: text("") })),
      "HEAD",
    ),
    ...["GET", "HEAD"].flatMap((method) =>
      listed(
        [
          { what: `${method} of what is here`, path: `${f.hello}`, status: 200 },
          { what: `${method} of a path`, path: `${root}/sub/multi.txt`, status: 200 },
          { what: `${method} of a directory`, path: `${root}/?format=json`, status: 200 },
          { what: `${method} of a CAR`, path: `${root}?format=car`, status: 200 },
          { what: `${method} of what is not here`, path: `${f.absent}`, status: 412, body: text("") },
          { what: `${method} of a block that is not here`, path: `${f.absent}?format=raw`, status: 412 },
          { what: `${method} of a CAR that is not here`, path: `${f.absent}?format=car`, status: 412 },
          { what: `${method} of a path that its root does not have`, path: `${root}/nowhere`, status: 404 },
        ].map((check) => ({ ...check, method, headers: { "Cache-Control": "only-if-cached" } })),
        "only-if-cached",
      ),
    ),
    ...listed(
      [
        {
          what: "GET of a name",
          path: "../ipns/k51qzi5uqu5dlxdsdu5fpuu7h69wu4ohp32iwm9pdt9nq3y5rpn3ln9j12zfhe",
          status: 200,
          not: noIpns,
        },
        { what: "HEAD of a name", path: "../ipns/en.wikipedia-on-ipfs.org", method: "HEAD", status: 200, not: noIpns },
        {
          what: "a record",
          path: "../ipns/k51qzi5uqu5dlxdsdu5fpuu7h69wu4ohp32iwm9pdt9nq3y5rpn3ln9j12zfhe?format=ipns-record",
          status: 200,
          not: noIpns,
        },
      ],
      "/ipns",
    ),
    ...listed(
      [
        ...[`"${f.hello}"`, `W/"${f.hello}"`, `"a", "b", "${f.hello}"`, "*"].map((tag) => ({
          what: `a file with ${tag.slice(0, 4)}`,
          path: `${root}/hello.txt`,
          headers: { "If-None-Match": tag },
          status: 304,
          body: text(""),
          shows: { etag: `"${f.hello}"` },
        })),
        {
          what: "another tag",
          path: `${root}/hello.txt`,
          headers: { "If-None-Match": '"other"' },
          status: 200,
          body: hello,
        },
        {
          what: "an index page",
          path: `${root}/site/`,
          headers: { "If-None-Match": `"${f.at(tree, "site")}"` },
          status: 304,
        },
        {
          what: "a block",
          path: `${f.hello}`,
          headers: { ...accept(rawType), "If-None-Match": `"${f.hello}.raw"` },
          status: 304,
        },
        {
          what: "a file with the tag of its block",
          path: `${f.hello}`,
          headers: { "If-None-Match": `"${f.hello}.raw"` },
          status: 200,
        },
        {
          what: "dag-json",
          path: `${root}?format=dag-json`,
          headers: { "If-None-Match": `"${root}.dag-json"` },
          status: 304,
        },
        { what: "* of what is not here", path: `${f.absent}`, headers: { "If-None-Match": "*" }, status: 404 },
        {
          what: "* of a path that is not here",
          path: `${root}/nowhere`,
          headers: { "If-None-Match": "*" },
          status: 404,
        },
        {
          what: "* of a CAR that is not here",
          path: `${f.absent}?format=car`,
          headers: { "If-None-Match": "*" },
          status: 404,
        },
        {
          what: "* of a block that is not here",
          path: `${f.absent}?format=raw`,
          headers: { "If-None-Match": "*" },
          status: 404,
        },
        {
          what: "* of a CAR",
          path: `${root}?format=car`,
          headers: { "If-None-Match": "*" },
          status: 304,
          shows: { etag: /\.car\./ },
        },
        { what: "* of a listing", path: `${root}/`, headers: { "If-None-Match": "*" }, status: 304 },
      ],
      "If-None-Match",
    ),
    ...listed(
      [
        { what: "raw", headers: accept(rawType), shows: { "content-type": rawType } },
        { what: "CAR", headers: accept(carType), shows: { "content-type": /^application\/vnd\.ipld\.car/ } },
        { what: "dag-json", headers: accept(jsonType), shows: { "content-type": jsonType } },
        { what: "dag-cbor", headers: accept(cborType), shows: { "content-type": cborType } },
        {
          what: "in a list of unknown types",
          headers: accept(`foo, ${jsonType},bar`),
          shows: { "content-type": jsonType },
        },
        { what: "beside anything", headers: accept(`${rawType}, */*;q=0.1`), shows: { "content-type": rawType } },
        { what: "as dear as anything", headers: accept(`*/*, ${carType}`), shows: { "content-type": /ipld\.car/ } },
        {
          what: "dearer than the second",
          headers: accept(`${rawType};q=0.5, ${jsonType};q=0.6`),
          shows: { "content-type": jsonType },
        },
        {
          what: "the first of equals",
          headers: accept(`${cborType}, ${rawType}`),
          shows: { "content-type": cborType },
        },
        {
          what: "cheaper than a picture",
          headers: accept(`${rawType};q=0.5, image/png`),
          shows: { "content-type": /^text\/plain/ },
        },
        { what: "not at all", headers: accept(`${rawType};q=0`), shows: { "content-type": /^text\/plain/ } },
        {
          what: "not at all, and a CAR",
          headers: accept(`${rawType};q=0, ${carType};q=0.1`),
          shows: { "content-type": /ipld\.car/ },
        },
        { what: "in capitals", headers: accept("APPLICATION/VND.IPLD.RAW"), shows: { "content-type": rawType } },
        {
          what: "what a browser asks for",
          headers: accept("text/html,application/xhtml+xml,*/*;q=0.8"),
          shows: { "content-type": /^text\/plain/ },
        },
        { what: "what is no type", headers: accept(";;,=,"), shows: { "content-type": /^text\/plain/ } },
        {
          what: "application/json of a file is the file",
          headers: accept("application/json"),
          shows: { "content-type": /^text\/plain/ },
          body: hello,
        },
        {
          what: "application/cbor of a file is the file",
          headers: accept("application/cbor"),
          shows: { "content-type": /^text\/plain/ },
          body: hello,
        },
        { what: "tar, which is not made", headers: accept("application/x-tar"), status: 406 },
        {
          what: "tar, or else a CAR",
          headers: accept(`application/x-tar, ${carType};q=0.5`),
          shows: { "content-type": /ipld\.car/ },
        },
        {
          what: "tar, or else anything",
          headers: accept("application/x-tar, */*;q=0.1"),
          shows: { "content-type": /^text\/plain/ },
        },
        { what: "a record of IPNS", headers: accept("application/vnd.ipfs.ipns-record"), status: 400 },
      ].map((check) => ({ status: 200, ...check, path: `${f.hello}` })),
      "Accept",
    ),
    {
      section: "Accept",
      what: "tar of a tree",
      path: root,
      headers: accept("application/x-tar"),
      status: 200,
      not: noTar,
    },
    ...listed(
      [
        { what: "the middle", range: "bytes=6-16", shown: "bytes 6-16/31", body: hello.subarray(6, 17) },
        { what: "the end", range: "bytes=-3", shown: "bytes 28-30/31", body: hello.subarray(28) },
        { what: "from the middle", range: "bytes=20-", shown: "bytes 20-30/31", body: hello.subarray(20) },
        { what: "past the end", range: "bytes=20-99", shown: "bytes 20-30/31", body: hello.subarray(20) },
        { what: "one byte", range: "bytes=0-0", shown: "bytes 0-0/31", body: hello.subarray(0, 1) },
      ].map(({ what, range, shown, body }) => {
        return {
          what,
          path: `${root}/hello.txt`,
          headers: { Range: range },
          status: 206,
          shows: { "content-range": shown },
          body,
        };
      }),
      "Range",
    ),
    ...listed(
      [
        {
          what: "across pieces",
          path: `${root}/sub/multi.txt`,
          headers: { Range: "bytes=250-600" },
          status: 206,
          body: multi.subarray(250, 601),
        },
        {
          what: "before a lost piece",
          path: `${f.gap.root}/gap.txt`,
          headers: { Range: "bytes=0-99" },
          status: 206,
          body: text("a".repeat(100)),
        },
        {
          what: "behind a lost piece",
          path: `${f.gap.root}/gap.txt`,
          headers: { Range: "bytes=600-609" },
          status: 206,
          body: text("c".repeat(10)),
        },
        {
          what: "of a block",
          path: `${root}?format=raw`,
          headers: { Range: "bytes=6-16" },
          status: 206,
          shows: { "content-type": rawType },
          body: rootBlock.subarray(6, 17),
        },
        {
          what: "of a document",
          path: `${cbor.cid}`,
          headers: { Range: "bytes=2-5" },
          status: 206,
          body: cbor.bytes.subarray(2, 6),
        },
        {
          what: "of a converted document",
          path: `${cbor.cid}?format=dag-json`,
          headers: { Range: "bytes=0-4" },
          status: 206,
          body: encodeJson(f.linked).subarray(0, 5),
        },
        {
          what: "outside",
          path: `${f.hello}`,
          headers: { Range: "bytes=31-" },
          status: 416,
          shows: { "content-range": "bytes */31" },
        },
        {
          what: "two, of which one need not be understood",
          path: `${f.hello}`,
          headers: { Range: "bytes=6-16,0-4" },
          status: [200, 206],
        },
        {
          what: "if it is still that one",
          path: `${f.hello}`,
          headers: { Range: "bytes=0-1", "If-Range": `"${f.hello}"` },
          status: 206,
        },
        {
          what: "if it were another one",
          path: `${f.hello}`,
          headers: { Range: "bytes=0-1", "If-Range": '"other"' },
          status: 200,
          body: hello,
        },
      ],
      "Range",
    ),
    ...listed(
      [
        { what: "a directory without its slash", path: root, status: 400 },
        { what: "a file without a slash", path: `${f.hello}`, status: 400 },
        {
          what: "a script in a directory",
          path: `${root}/script.js`,
          status: 200,
          not: "no script of this content runs on this origin",
        },
      ].map((check) => ({ ...check, headers: { "Service-Worker": "script" } })),
      "Service-Worker",
    ),
    ...listed(
      [
        { what: "is in the header", query: "filename=a.txt", shows: 'inline; filename="a.txt"' },
        {
          what: "beyond ASCII",
          query: `filename=${encodeURIComponent("testтест.pdf")}`,
          shows: `inline; filename="test____.pdf"; filename*=UTF-8''test%D1%82%D0%B5%D1%81%D1%82.pdf`,
        },
        {
          what: "with marks",
          query: `filename=${encodeURIComponent("a\"b\\c;'().txt")}`,
          shows: `inline; filename="a_b_c;'().txt"; filename*=UTF-8''a%22b%5Cc%3B%27%28%29.txt`,
        },
        {
          what: "with lines",
          query: "filename=a%0D%0AX-Evil:%201",
          shows: `inline; filename="a__X-Evil: 1"; filename*=UTF-8''a%0D%0AX-Evil%3A%201`,
        },
        { what: "a download", query: "filename=a.txt&download=true", shows: 'attachment; filename="a.txt"' },
        { what: "of a block", query: "format=raw&filename=a.bin", shows: 'attachment; filename="a.bin"' },
        { what: "of a CAR", query: "format=car&filename=a.car", shows: 'attachment; filename="a.car"' },
        { what: "of dag-json", query: "format=dag-json&filename=a.json", shows: 'inline; filename="a.json"' },
        { what: "of dag-cbor", query: "format=dag-cbor&filename=a.cbor", shows: 'attachment; filename="a.cbor"' },
        { what: "that is empty", query: "filename=", shows: null },
      ].map(({ what, query, shows }) => {
        return { what, path: `${f.hello}?${query}`, status: 200, shows: { "content-disposition": shows } };
      }),
      "filename",
    ),
    ...listed(
      [
        { what: "true", path: `${f.hello}?download=true`, shows: "attachment" },
        { what: "false", path: `${f.hello}?download=false`, shows: "inline" },
        { what: "of a picture", path: `${f.png}?download=true`, shows: "attachment" },
        { what: "of a page", path: `${root}/site/?download=true`, shows: "attachment" },
        {
          what: "of dag-json",
          path: `${root}?format=dag-json&download=true&filename=a.json`,
          shows: 'attachment; filename="a.json"',
        },
        { what: "unsaid", path: `${f.png}`, shows: null },
      ].map(({ what, path, shows }) => ({ what, path, status: 200, shows: { "content-disposition": shows } })),
      "download",
    ),
    {
      section: "download",
      what: "false of a page that is a file",
      path: `${root}/page.html?download=false`,
      shows: { "content-disposition": /^inline/ },
      not: noScripts,
    },
    ...listed(
      [
        { what: "raw", format: "raw", type: rawType },
        { what: "car", format: "car", type: /^application\/vnd\.ipld\.car/ },
        { what: "dag-json", format: "dag-json", type: jsonType },
        { what: "dag-cbor", format: "dag-cbor", type: cborType },
        { what: "json of a directory", format: "json", type: "application/json" },
        { what: "cbor of a directory", format: "cbor", type: "application/cbor" },
      ].map(({ what, format, type }) => {
        return { what, path: `${root}?format=${format}`, status: 200, shows: { "content-type": type } };
      }),
      "format",
    ),
    ...listed(
      [
        {
          what: "before Accept",
          path: `${root}?format=raw`,
          headers: accept(carType),
          status: 200,
          shows: { "content-type": rawType },
        },
        {
          what: "before Accept, the other way",
          path: `${root}?format=car`,
          headers: accept(rawType),
          status: 200,
          shows: { "content-type": /ipld\.car/ },
        },
        {
          what: "before Accept of a page",
          path: `${root}?format=dag-json`,
          headers: accept("text/html"),
          status: 200,
          shows: { "content-type": jsonType },
        },
        { what: "below a path", path: `${root}/sub/multi.txt?format=raw`, status: 200, body: multiBlock },
        { what: "a folder below a path", path: `${root}/sub?format=raw`, status: 200, body: block(sub) },
        {
          what: "json of a file is the file",
          path: `${root}/data.json?format=json`,
          status: 200,
          body: { json: { name: "One" } },
        },
        { what: "ipns-record of what is below /ipfs", path: `${root}?format=ipns-record`, status: 400 },
        { what: "tar", path: `${root}?format=tar`, status: 200, not: noTar },
        { what: "an unknown one", path: `${root}?format=zip`, status: [400, 406] },
        { what: "an empty one", path: `${root}?format=`, status: [400, 406] },
      ],
      "format",
    ),
    ...listed(
      [
        { what: "400: no CID", path: "not-a-cid", status: 400 },
        { what: "400: a CID that breaks off", path: root.slice(0, -3), status: 400 },
        { what: "400: a path that cannot be decoded", path: `${root}/%ff`, status: 400 },
        {
          what: "400: a codec that nobody reads",
          path: "bafzbeigai3eoy2ccc7ybwjfz5r3rdxqrinwi4rwytly24tdbh6yk7zslrm",
          status: 400,
        },
        { what: "404: a root", path: `${f.absent}`, status: 404, shows: { "cache-control": "no-store" } },
        { what: "404: a name", path: `${root}/nowhere`, status: 404, body: /nowhere/ },
        { what: "404: a name in a folder", path: `${root}/sub/nowhere.txt`, status: 404, body: /sub\/nowhere\.txt/ },
        { what: "404: below a file", path: `${root}/hello.txt/below`, status: 404 },
        { what: "404: a name of a sharded directory", path: `${f.sharded.root}/nowhere`, status: 404 },
        { what: "404: a block below a path", path: `${root}/nowhere?format=raw`, status: 404 },
        { what: "404: dag-json of a name", path: `${root}/nowhere?format=dag-json`, status: 404 },
        {
          what: "404: in JSON where that is asked for",
          path: `${f.absent}`,
          headers: accept("application/json"),
          status: 404,
          shows: { "content-type": /json/ },
        },
        { what: "404: a block that is no dag-pb", path: `${toCodec(f.hello, 0x70)}`, status: 404 },
        {
          what: "500: a document that is none",
          path: `${documents.broken.cid}?format=dag-json`,
          status: 500,
          not: alarm,
        },
      ],
      "Status codes",
    ),
    ...listed(
      [
        { what: "a file", path: `${f.hello}`, shows: { etag: `"${f.hello}"` } },
        { what: "a file by its path", path: `${root}/sub/multi.txt`, shows: { etag: `"${f.multi}"` } },
        { what: "a block", path: `${f.hello}?format=raw`, shows: { etag: `"${f.hello}.raw"` } },
        { what: "a listing", path: `${root}/`, shows: { etag: new RegExp(`^"DirIndex-[0-9a-f]+_CID-${root}"$`) } },
        { what: "an index page", path: `${root}/site/`, shows: { etag: `"${f.at(tree, "site")}"` } },
        { what: "dag-json", path: `${root}?format=dag-json`, shows: { etag: `"${root}.dag-json"` } },
        { what: "dag-cbor", path: `${root}?format=dag-cbor`, shows: { etag: `"${root}.dag-cbor"` } },
        { what: "a CAR", path: `${root}?format=car`, shows: { etag: new RegExp(`^"${root}\\.car\\.`) } },
        {
          what: "by Accept as by format",
          path: `${root}`,
          headers: accept(jsonType),
          shows: { etag: `"${root}.dag-json"` },
        },
        {
          what: "a range has one of its own",
          path: `${f.hello}`,
          headers: { Range: "bytes=0-3" },
          shows: { etag: /0-3/ },
          not: "RFC 9110 (13.1.5, 15.3.7) needs the tag of the whole: clients put parts together by it",
        },
      ],
      "Etag",
    ),
    ...listed(
      [
        ...[
          "hello.txt",
          "sub/multi.txt",
          "picture.png",
          "hello.txt?format=raw",
          "hello.txt?format=car",
          "sub?format=dag-json",
          "sub?format=json",
          "site/",
        ].map((path) => {
          return { what: path, path: `${root}/${path}`, shows: { "cache-control": immutable } };
        }),
        { what: "a document", path: `${json.cid}`, shows: { "cache-control": immutable } },
        {
          what: "a generated page is no immutable resource",
          path: `${root}/`,
          shows: { "cache-control": "public, max-age=604800" },
        },
      ],
      "Cache-Control",
    ),
    ...listed(
      [
        { what: "text", path: `${root}/hello.txt`, shows: "text/plain; charset=utf-8" },
        { what: "a picture by its bytes", path: `${f.png}`, shows: "image/png" },
        { what: "SVG", path: `${root}/drawing.svg`, shows: "image/svg+xml" },
        { what: "JSON", path: `${root}/data.json`, shows: "application/json" },
        { what: "a style by its name", path: `${root}/style.css`, shows: /^text\/css/ },
        { what: "bytes", path: `${root}/bytes.bin`, shows: "application/octet-stream" },
        { what: "a page", path: `${root}/site/`, shows: /^text\/html/ },
        {
          what: "a CAR says its version",
          path: `${root}?format=car`,
          shows: /^application\/vnd\.ipld\.car; version=1/,
        },
      ].map(({ what, path, shows }) => ({ what, path, status: 200, shows: { "content-type": shows } })),
      "Content-Type",
    ),
    {
      section: "Content-Disposition",
      what: "SVG is shown",
      path: `${root}/drawing.svg`,
      shows: { "content-disposition": null },
      not: noScripts,
    },
    {
      section: "Content-Type",
      what: "a script by its name",
      path: `${root}/script.js`,
      shows: { "content-type": /javascript/ },
      not: "the console's policy allows scripts of its own origin, where this content is too",
    },
    ...listed(
      [
        { what: "a block", path: `${f.hello}?format=raw`, shows: `attachment; filename="${f.hello}.bin"` },
        { what: "a CAR", path: `${root}?format=car`, shows: `attachment; filename="${root}.car"` },
        { what: "a CAR of a path", path: `${root}/sub?format=car`, shows: /^attachment; filename="[a-z0-9]+\.car"$/ },
        { what: "dag-json", path: `${json.cid}`, shows: `inline; filename="${json.cid}.json"` },
        { what: "dag-cbor", path: `${cbor.cid}`, shows: `attachment; filename="${cbor.cid}.cbor"` },
        { what: "json", path: `${documents.json.cid}`, shows: `inline; filename="${documents.json.cid}.json"` },
        { what: "cbor", path: `${documents.cbor.cid}`, shows: `attachment; filename="${documents.cbor.cid}.cbor"` },
        { what: "a file", path: `${f.hello}`, shows: null },
        { what: "a listing", path: `${root}/`, shows: null },
      ].map(({ what, path, shows }) => ({ what, path, status: 200, shows: { "content-disposition": shows } })),
      "Content-Disposition",
    ),
    ...listed(
      [
        { what: "raw", path: `${root}`, type: rawType, shows: `/ipfs/${root}?format=raw` },
        { what: "CAR", path: `${root}`, type: carType, shows: `/ipfs/${root}?format=car` },
        { what: "dag-json", path: `${root}`, type: jsonType, shows: `/ipfs/${root}?format=dag-json` },
        { what: "dag-cbor", path: `${root}`, type: cborType, shows: `/ipfs/${root}?format=dag-cbor` },
        {
          what: "json of a document",
          path: `${json.cid}`,
          type: "application/json",
          shows: `/ipfs/${json.cid}?format=json`,
        },
        { what: "below a path", path: `${root}/sub`, type: carType, shows: `/ipfs/${root}/sub?format=car` },
        {
          what: "beside another member",
          path: `${root}?filename=a`,
          type: rawType,
          shows: `/ipfs/${root}?filename=a&format=raw`,
        },
        {
          what: "what format says, when Accept says another",
          path: `${root}?format=raw`,
          type: carType,
          shows: `/ipfs/${root}?format=raw`,
        },
        {
          what: "with the parameters of a CAR",
          path: `${root}`,
          type: `${carType};order=dfs;dups=y`,
          shows: `/ipfs/${root}?format=car&car-order=dfs&car-dups=y`,
        },
        { what: "not of a file as it is", path: `${f.hello}`, type: "*/*", shows: null },
        {
          what: "not of a file that JSON is asked of",
          path: `${root}/data.json`,
          type: "application/json",
          shows: null,
        },
      ].map(({ what, path, type, shows }) => {
        return {
          what,
          path,
          headers: accept(type),
          status: 200,
          shows: { "content-location": shows, vary: /accept/i },
        };
      }),
      "Content-Location",
    ),
    ...listed(
      [
        ...["hello.txt", "hello.txt?format=raw", "hello.txt?format=car", "", "site/", "?format=dag-json"].map(
          (path) => {
            return {
              what: `Vary of ${path || "a redirect"}`,
              path: `${root}${path.startsWith("?") || !path ? "" : "/"}${path}`,
              shows: { vary: /accept/i },
            };
          },
        ),
        { what: "Vary of what is not here", path: `${f.absent}`, shows: { vary: /accept/i } },
        {
          what: "Vary of what did not change",
          path: `${f.hello}`,
          headers: { "If-None-Match": `"${f.hello}"` },
          status: 304,
          shows: { vary: /accept/i },
        },
        { what: "Content-Length of a file", path: `${f.hello}`, shows: { "content-length": "31" } },
        {
          what: "Content-Length of a block",
          path: `${root}?format=raw`,
          shows: { "content-length": String(rootBlock.length) },
        },
        {
          what: "Content-Length of a document",
          path: `${cbor.cid}`,
          headers: accept(cborType),
          shows: { "content-length": String(cbor.bytes.length) },
        },
        { what: "Accept-Ranges of a file", path: `${f.hello}`, shows: { "accept-ranges": "bytes" } },
        { what: "Accept-Ranges of a CAR", path: `${root}?format=car`, shows: { "accept-ranges": "none" } },
        { what: "Content-Range of a whole", path: `${f.hello}`, shows: { "content-range": null } },
        ...["hello.txt", "hello.txt?format=raw", "?format=car", "?format=dag-json", "page.html"].map((path) => {
          return {
            what: `nosniff of ${path}`,
            path: `${root}${path.startsWith("?") ? "" : "/"}${path}`,
            shows: { "x-content-type-options": "nosniff" },
          };
        }),
        {
          what: "no script runs in a file",
          path: `${root}/page.html`,
          shows: { "content-security-policy": /^sandbox; default-src 'none'/ },
        },
        {
          what: "no script runs in a page",
          path: `${root}/site/`,
          shows: { "content-security-policy": /^(?!.*(script|allow-))sandbox; default-src 'none'/ },
          body: text(site),
        },
      ],
      "Other headers",
    ),
    ...listed(
      [
        { what: "a directory", path: root, status: 301, shows: { location: `/ipfs/${root}/` } },
        { what: "a folder", path: `${root}/sub`, status: 301, shows: { location: `/ipfs/${root}/sub/` } },
        {
          what: "a folder in UTF-8",
          path: `${root}/%C4%85/%C4%99`,
          status: 301,
          shows: { location: `/ipfs/${root}/%C4%85/%C4%99/` },
        },
        { what: "a sharded directory", path: `${f.sharded.root}`, status: 301 },
        { what: "a folder with a page", path: `${root}/site`, status: 301, shows: { location: `/ipfs/${root}/site/` } },
        { what: "with its query", path: `${root}?a=/b`, status: 301, shows: { location: `/ipfs/${root}/?a=/b` } },
        { what: "HEAD", path: root, method: "HEAD", status: 301 },
        { what: "not of a block", path: `${root}?format=raw`, status: 200 },
        { what: "not of a CAR", path: root, headers: accept(carType), status: 200 },
        { what: "not of dag-json", path: `${root}/sub?format=dag-json`, status: 200 },
      ],
      "Location",
    ),
    ...listed(
      [
        { what: "path of a file", path: `${f.hello}`, shows: { "x-ipfs-path": `/ipfs/${f.hello}` } },
        {
          what: "path below a root",
          path: `${root}/sub/multi.txt`,
          shows: { "x-ipfs-path": `/ipfs/${root}/sub/multi.txt` },
        },
        { what: "path of a listing", path: `${root}/sub/`, shows: { "x-ipfs-path": `/ipfs/${root}/sub/` } },
        {
          what: "path as it was asked for",
          path: `${tree.root.toString(bases.base16)}/hello.txt`,
          shows: { "x-ipfs-path": `/ipfs/${tree.root.toString(bases.base16)}/hello.txt` },
        },
        {
          what: "path of a name that looks encoded",
          path: `${root}/100%252C+=&.txt`,
          shows: { "x-ipfs-path": `/ipfs/${root}/100%2C+=&.txt` },
        },
        {
          what: "no path that a header cannot say",
          path: `${root}/%C4%85/%C4%99/%C5%BA.txt`,
          status: 200,
          shows: { "x-ipfs-path": null },
        },
        { what: "path of a block", path: `${f.hello}?format=raw`, shows: { "x-ipfs-path": `/ipfs/${f.hello}` } },
        { what: "roots of a file", path: `${f.hello}`, shows: { "x-ipfs-roots": `${f.hello}` } },
        {
          what: "roots below a root",
          path: `${root}/sub/multi.txt`,
          shows: { "x-ipfs-roots": `${root},${sub},${f.multi}` },
        },
        { what: "roots of a listing", path: `${root}/sub/`, shows: { "x-ipfs-roots": `${root},${sub}` } },
        { what: "roots of a page", path: `${root}/site/`, shows: { "x-ipfs-roots": `${root},${f.at(tree, "site")}` } },
        {
          what: "roots through a sharded directory",
          path: `${f.sharded.root}/multi.txt`,
          shows: { "x-ipfs-roots": `${f.sharded.root},${shardMulti}` },
        },
        {
          what: "roots of a block below a path",
          path: `${root}/sub?format=raw`,
          shows: { "x-ipfs-roots": `${root},${sub}` },
        },
        { what: "roots of dag-json", path: `${root}/sub?format=dag-json`, shows: { "x-ipfs-roots": `${root},${sub}` } },
      ],
      "X-Ipfs-Path and X-Ipfs-Roots",
    ),
    ...listed(
      [
        { what: "dag-json as it is", path: `${json.cid}`, shows: { "content-type": jsonType }, body: json.bytes },
        {
          what: "dag-json as dag-json",
          path: `${json.cid}?format=dag-json`,
          shows: { "content-type": jsonType },
          body: json.bytes,
        },
        {
          what: "dag-json as json",
          path: `${json.cid}?format=json`,
          shows: { "content-type": "application/json" },
          body: json.bytes,
        },
        {
          what: "dag-json as dag-cbor",
          path: `${json.cid}?format=dag-cbor`,
          shows: { "content-type": cborType },
          body: { cbor: f.linked },
        },
        {
          what: "dag-json as cbor",
          path: `${json.cid}`,
          headers: accept("application/cbor"),
          shows: { "content-type": "application/cbor" },
          body: { cbor: f.linked },
        },
        { what: "dag-cbor as it is", path: `${cbor.cid}`, shows: { "content-type": cborType }, body: cbor.bytes },
        {
          what: "dag-cbor as dag-cbor",
          path: `${cbor.cid}`,
          headers: accept(cborType),
          shows: { "content-type": cborType },
          body: cbor.bytes,
        },
        {
          what: "dag-cbor as cbor",
          path: `${cbor.cid}?format=cbor`,
          shows: { "content-type": "application/cbor" },
          body: cbor.bytes,
        },
        {
          what: "dag-cbor as dag-json",
          path: `${cbor.cid}?format=dag-json`,
          shows: { "content-type": jsonType },
          body: encodeJson(f.linked),
        },
        {
          what: "dag-cbor as json",
          path: `${cbor.cid}?format=json`,
          shows: { "content-type": "application/json" },
          body: encodeJson(f.linked),
        },
        {
          what: "json as it is",
          path: `${documents.json.cid}`,
          shows: { "content-type": "application/json" },
          body: documents.json.bytes,
        },
        {
          what: "json as json",
          path: `${documents.json.cid}?format=json`,
          shows: { "content-type": "application/json" },
          body: documents.json.bytes,
        },
        {
          what: "json as dag-json",
          path: `${documents.json.cid}?format=dag-json`,
          shows: { "content-type": jsonType },
          body: { json: f.plain },
        },
        { what: "json as dag-cbor", path: `${documents.json.cid}?format=dag-cbor`, body: { cbor: f.plain } },
        {
          what: "cbor as it is",
          path: `${documents.cbor.cid}`,
          shows: { "content-type": "application/cbor" },
          body: documents.cbor.bytes,
        },
        {
          what: "cbor as dag-cbor",
          path: `${documents.cbor.cid}?format=dag-cbor`,
          shows: { "content-type": cborType },
          body: documents.cbor.bytes,
        },
        {
          what: "cbor as json",
          path: `${documents.cbor.cid}?format=json`,
          shows: { "content-type": "application/json" },
          body: { json: f.plain },
        },
        { what: "a directory as dag-json", path: `${root}?format=dag-json`, body: encodeJson(logical) },
        { what: "a directory as dag-cbor", path: `${root}?format=dag-cbor`, body: encodeCbor(logical) },
        {
          what: "a directory as json",
          path: `${root}`,
          headers: accept("application/json"),
          shows: { "content-type": "application/json" },
          body: encodeJson(logical),
        },
        {
          what: "a file in pieces as dag-json",
          path: `${f.multi}?format=dag-json`,
          body: encodeJson(decodePb(multiBlock)),
        },
        { what: "a file of one block as dag-json", path: `${f.hello}?format=dag-json`, body: encodeJson(hello) },
        { what: "a file of one block as dag-cbor", path: `${f.hello}?format=dag-cbor`, body: encodeCbor(hello) },
        {
          what: "a document for people",
          path: `${cbor.cid}`,
          headers: accept("text/html"),
          shows: { "content-type": /^text\/html/, etag: /DagIndex-/ },
          body: /format=dag-json/,
        },
        {
          what: "a document for people, dag-json",
          path: `${json.cid}`,
          headers: accept("text/html"),
          shows: { "content-type": /^text\/html/, "content-disposition": null },
          body: /format=dag-cbor/,
        },
        {
          what: "a document of 270 kB, converted",
          path: `${documents.large.cid}?format=dag-cbor`,
          not: "blocks of up to 256 KiB are converted (406 beyond): that takes the processor, and anybody may ask",
        },
        { what: "the same as it is", path: `${documents.large.cid}`, body: documents.large.bytes },
      ].map((check) => ({ status: 200, ...check })),
      "Codecs",
    ),
    ...listed(
      [
        { what: "a link of a document", path: `${cbor.cid}/file`, status: 200, body: hello },
        { what: "a link of a document in dag-json", path: `${json.cid}/file`, status: 200, body: hello },
        { what: "through a link to a directory", path: `${json.cid}/inner/dir/hello.txt`, status: 200, body: hello },
        { what: "through two documents", path: `${f.chain.cid}/outer/file`, status: 200, body: hello },
        {
          what: "through two documents and a directory",
          path: `${f.chain.cid}/other/json/inner/dir/sub/ascii.txt`,
          status: 200,
          body: /^goodbye/,
        },
        {
          what: "to a document, converted",
          path: `${f.chain.cid}/outer?format=dag-json`,
          status: 200,
          body: encodeJson(f.linked),
        },
        {
          what: "roots of the links",
          path: `${f.chain.cid}/other/json/file`,
          status: 200,
          shows: { "x-ipfs-roots": `${f.chain.cid},${json.cid},${f.hello}` },
        },
        { what: "no such member", path: `${cbor.cid}/nowhere`, status: 404 },
        { what: "no such member below one", path: `${cbor.cid}/inner/nowhere`, status: 404 },
        { what: "no member of the language", path: `${cbor.cid}/__proto__/constructor`, status: 404 },
        { what: "501 of what is no link", path: `${cbor.cid}/hello`, status: 501, not: alarm },
        { what: "501 of what is no link in dag-json", path: `${json.cid}/inner`, status: 501, not: alarm },
      ],
      "Traversal",
    ),
    ...listed(
      [
        { what: "names", path: `${root}/`, body: />hello\.txt</ },
        { what: "names in UTF-8", path: `${root}/%C4%85/%C4%99/`, body: />ź\.txt</ },
        { what: "links by path", path: `${root}/sub/`, body: new RegExp(`href="/ipfs/${root}/sub/multi.txt"`) },
        { what: "no page where the directory brings one", path: `${root}/site/`, body: text(site) },
        { what: "other formats", path: `${root}/`, body: /format=car/ },
        { what: "other formats for programs", path: `${root}/`, body: /format=dag-json/ },
        { what: "of a sharded directory", path: `${f.sharded.root}/`, body: />39\.txt</ },
        { what: "whose cache asks again", path: `${root}/`, shows: { "cache-control": /^(?!.*immutable)/ } },
      ].map((check) => ({ ...check, status: 200 })),
      "Listings",
    ),
    ...listed(
      [
        { what: "of a file", path: `${f.hello}?format=raw`, body: hello },
        { what: "of a file in pieces", path: `${f.multi}?format=raw`, body: multiBlock },
        { what: "of a directory", path: `${root}?format=raw`, body: rootBlock },
        { what: "of a sharded directory", path: `${f.sharded.root}?format=raw`, body: block(f.sharded.root) },
        { what: "of a document", path: `${cbor.cid}?format=raw`, body: cbor.bytes },
        { what: "by Accept", path: `${root}`, headers: accept(rawType), body: rootBlock },
        { what: "of a codec that is not read", path: `${toCodec(f.hello, 0x78)}?format=raw`, body: hello },
        { what: "of a CID of version 0", path: `${f.multiV0}?format=raw`, body: multiBlock },
        {
          what: "headers",
          path: `${root}`,
          headers: accept(rawType),
          shows: {
            "content-type": rawType,
            "cache-control": immutable,
            "x-content-type-options": "nosniff",
            "content-disposition": /^attachment/,
          },
        },
        { what: "that is not here", path: `${f.absent}?format=raw`, status: 404 },
        { what: "that is not here, by Accept", path: `${f.absent}`, headers: accept(rawType), status: 404 },
        { what: "that is lost", path: `${f.lost}?format=raw`, status: 404 },
      ].map((check) => ({ status: 200, ...check })),
      "Blocks",
    ),
    ...carChecks(f),
    ...listed(
      [
        { what: "the probe, as a block", path: `${f.probe}?format=raw`, status: 200, body: text("") },
        { what: "the probe, by Accept", path: `${f.probe}`, headers: accept(rawType), status: 200, body: text("") },
        {
          what: "the probe, as a CAR",
          path: `${f.probe}?format=car`,
          status: 200,
          body: { car: [], roots: [f.probe] },
        },
        {
          what: "the probe, as a CAR by Accept",
          path: `${f.probe}`,
          headers: accept(carType),
          status: 200,
          body: { car: [], roots: [f.probe] },
        },
        { what: "the probe, HEAD", path: `${f.probe}?format=raw`, method: "HEAD", status: 200 },
        { what: "the probe, HEAD of a CAR", path: `${f.probe}?format=car`, method: "HEAD", status: 200 },
        { what: "the probe, as it is", path: `${f.probe}`, status: 200, body: text("") },
        {
          what: "the probe, where nothing is asked elsewhere",
          path: `${f.probe}?format=raw`,
          headers: { "Cache-Control": "only-if-cached" },
          status: 200,
        },
        {
          what: "a text in its CID",
          path: `${f.inline}`,
          status: 200,
          shows: { "content-type": /^text\/plain/ },
          body: text("hello"),
        },
        { what: "a block in its CID", path: `${f.inline}?format=raw`, status: 200, body: text("hello") },
        { what: "a range of it", path: `${f.inline}`, headers: { Range: "bytes=1-2" }, status: 206, body: text("el") },
        { what: "its tag", path: `${f.inline}`, headers: { "If-None-Match": `"${f.inline}"` }, status: 304 },
        {
          what: "a CAR without it",
          path: `${f.inline}`,
          headers: accept(`${carType};dups=y`),
          status: 200,
          shows: { "content-type": /dups=y/ },
          body: { car: [] },
        },
        { what: "below it there is nothing", path: `${f.inline}/x`, status: 404 },
        { what: "as dag-json", path: `${f.inline}?format=dag-json`, status: 200, body: encodeJson(text("hello")) },
      ],
      "Probe and identity CIDs",
    ),
    ...listed(
      [
        ...Object.values(bases).map((base) => {
          const cid = encodeURIComponent(tree.root.toString(base));
          return { what: base.name, path: `${cid}/hello.txt`, status: 200, body: hello };
        }),
        { what: "version 0", path: `${f.multiV0}`, status: 200, body: multi },
      ],
      "Multibases",
    ),
    ...listed(
      [
        { what: "who may read", path: `${f.hello}`, shows: { "access-control-allow-origin": "*" } },
        {
          what: "a preflight allows Range",
          path: `${f.hello}`,
          method: "OPTIONS",
          headers: {
            Origin: "https://a.example",
            "Access-Control-Request-Method": "GET",
            "Access-Control-Request-Headers": "range",
          },
          status: [200, 204],
          shows: { "access-control-allow-headers": /\brange\b/i, "access-control-allow-methods": /GET.*HEAD.*OPTIONS/ },
        },
        ...["Content-Range", "Content-Length", "X-Ipfs-Path", "X-Ipfs-Roots", "ETag"].map((name) => {
          return {
            what: `${name} is exposed`,
            path: `${root}/hello.txt`,
            headers: { Range: "bytes=0-1" },
            status: 206,
            shows: { "access-control-expose-headers": new RegExp(`(^|,)\\s*${name}(,|$)`, "i") },
          };
        }),
        { what: "of a CAR", path: `${root}?format=car`, shows: { "access-control-allow-origin": "*" } },
        { what: "of what is not here", path: `${f.absent}`, shows: { "access-control-allow-origin": "*" } },
      ],
      "CORS",
    ),
  ];
}

function carChecks(f: Fixtures): Check[] {
  const { tree, sharded, twice, gap, documents } = f;
  const root = `${tree.root}`;
  const [sub, ascii, deep, down] = ["sub", "sub/ascii.txt", "sub/deep", "sub/deep/down.txt"].map((path) =>
    f.at(tree, path),
  ) as [CID, CID, CID, CID];
  const cids = (of: { blocks: readonly Block[] }) => of.blocks.map(({ cid }) => cid);
  const subBelow = [sub, ascii, deep, down, f.multi, ...f.pieces];
  const shardMulti = f.at(sharded, "multi.txt");
  const files = new Set([...sharded.cids.values()].filter((cid) => !cid.equals(sharded.root)).map(String));
  const inFiles = new Set([...files, ...f.pieces.map(String)]);
  const shards = cids(sharded).filter((cid) => !inFiles.has(`${cid}`));
  const [a, c, d] = ["a.txt", "c.txt", "d.txt"].map((path) => f.at(twice, path)) as [CID, CID, CID];
  const [x, y] = ["x", "y"].map((letter) => pieceOf(twice, letter)) as [CID, CID];
  const [gapFile, before, after] = [f.at(gap, "gap.txt"), pieceOf(gap, "a"), pieceOf(gap, "c")] as const;
  const cbor = documents["dag-cbor"].cid;
  const scoped = (path: string, scope: string) => `${path}?format=car&dag-scope=${scope}`;
  const bytes = (range: string, of = `${f.multi}`) => `${of}?format=car&dag-scope=entity&entity-bytes=${range}`;
  const dfs = /; order=dfs/;
  const once = [twice.root, a, c, d, x, y];
  const often = [twice.root, a, a, c, d, x, x, y];

  return [
    ...listed(
      [
        {
          what: "by the format",
          path: `${root}?format=car`,
          body: { car: cids(tree), roots: [tree.root], anyOrder: true },
        },
        { what: "by Accept", path: root, headers: accept(carType), body: { car: cids(tree), anyOrder: true } },
        {
          what: "of a path: the blocks on the way come first",
          path: `${root}/sub/ascii.txt?format=car`,
          body: { car: [tree.root, sub, ascii] },
        },
        { what: "of a folder", path: `${root}/sub?format=car`, body: { car: [tree.root, ...subBelow] } },
        {
          what: "of a file in pieces",
          path: `${root}/sub/multi.txt?format=car`,
          body: { car: [tree.root, sub, f.multi, ...f.pieces] },
        },
        { what: "of a raw block", path: `${f.hello}?format=car`, body: { car: [f.hello] } },
        { what: "through a document", path: `${cbor}/file?format=car`, body: { car: [cbor, f.hello] } },
        { what: "of a path that is not here", path: `${root}/sub/nowhere?format=car`, status: 404 },
        { what: "of a root that is not here", path: `${f.absent}?format=car`, status: 404 },
        {
          what: "headers",
          path: `${root}?format=car`,
          shows: {
            "content-type": `${carType}; version=1; order=dfs; dups=n`,
            "cache-control": immutable,
            "x-content-type-options": "nosniff",
            "content-disposition": /^attachment/,
          },
        },
        {
          what: "HEAD",
          path: `${root}/sub?format=car`,
          method: "HEAD",
          shows: { "content-type": /^application\/vnd\.ipld\.car/ },
          body: text(""),
        },
      ].map((check) => ({ status: 200, ...check })),
      "CARs",
    ),
    ...listed(
      [
        { what: "block of a directory", path: scoped(`${root}/sub`, "block"), body: { car: [tree.root, sub] } },
        {
          what: "block of a file",
          path: scoped(`${root}/sub/ascii.txt`, "block"),
          body: { car: [tree.root, sub, ascii] },
        },
        {
          what: "block of a file in pieces",
          path: scoped(`${root}/sub/multi.txt`, "block"),
          body: { car: [tree.root, sub, f.multi] },
        },
        {
          what: "block through a sharded directory",
          path: scoped(`${sharded.root}/multi.txt`, "block"),
          body: { car: [...shardsTo(f, "multi.txt"), shardMulti] },
        },
        { what: "entity of a directory", path: scoped(root, "entity"), body: { car: [tree.root] } },
        {
          what: "entity of a sharded directory",
          path: scoped(`${sharded.root}`, "entity"),
          body: { car: shards, anyOrder: true },
        },
        {
          what: "entity of a file",
          path: scoped(`${root}/sub/ascii.txt`, "entity"),
          body: { car: [tree.root, sub, ascii] },
        },
        {
          what: "entity of a file in pieces",
          path: scoped(`${root}/sub/multi.txt`, "entity"),
          body: { car: [tree.root, sub, f.multi, ...f.pieces] },
        },
        {
          what: "entity through a sharded directory",
          path: scoped(`${sharded.root}/multi.txt`, "entity"),
          body: { car: [...shardsTo(f, "multi.txt"), shardMulti, ...f.pieces] },
        },
        { what: "entity of a document is its block", path: scoped(`${cbor}`, "entity"), body: { car: [cbor] } },
        { what: "all of a folder", path: scoped(`${root}/sub`, "all"), body: { car: [tree.root, ...subBelow] } },
        { what: "all of a file in pieces", path: scoped(`${f.multi}`, "all"), body: { car: [f.multi, ...f.pieces] } },
        {
          what: "all of a document has what it links",
          path: scoped(`${cbor}`, "all"),
          body: { car: [cbor, ...cids(tree)], anyOrder: true },
        },
        { what: "an unknown one", path: scoped(root, "most"), status: 400 },
      ].map((check) => ({ status: 200, ...check })),
      "dag-scope",
    ),
    ...listed(
      [
        { what: "the whole file", path: bytes("0:*"), body: { car: [f.multi, ...f.pieces] } },
        {
          what: "the whole file below a path",
          path: bytes("0:*", `${root}/sub/multi.txt`),
          body: { car: [tree.root, sub, f.multi, ...f.pieces] },
        },
        { what: "to the end", path: bytes("512:*"), body: { car: [f.multi, ...f.pieces.slice(2)] } },
        { what: "the middle", path: bytes("512:1023"), body: { car: [f.multi, ...f.pieces.slice(2, 4)] } },
        {
          what: "the middle, from the end",
          path: bytes("512:-256"),
          body: { car: [f.multi, ...f.pieces.slice(2, 4)] },
        },
        { what: "the last bytes", path: bytes("-5:*"), body: { car: [f.multi, ...f.pieces.slice(3)] } },
        { what: "the first byte", path: bytes("0:0"), body: { car: [f.multi, ...f.pieces.slice(0, 1)] } },
        {
          what: "one byte of the second piece",
          path: bytes("256:256"),
          body: { car: [f.multi, ...f.pieces.slice(1, 2)] },
        },
        { what: "more than the file, from the end", path: bytes("-9999:*"), body: { car: [f.multi, ...f.pieces] } },
        {
          what: "more than the file, up to the end",
          path: bytes("-9999:-3"),
          body: { car: [f.multi, ...f.pieces.slice(0, 4)] },
        },
        { what: "partly outside", path: bytes("1020:99999"), body: { car: [f.multi, ...f.pieces.slice(3)] } },
        { what: "nothing", path: bytes("300:200"), body: { car: [f.multi] } },
        { what: "outside", path: bytes("1026:2000"), status: 400 },
        { what: "outside, from the end", path: bytes("0:-2000"), status: 400 },
        { what: "of a directory is left aside", path: bytes("0:*", root), body: { car: [tree.root] } },
        {
          what: "of a sharded directory is left aside",
          path: bytes("5:9", `${sharded.root}`),
          body: { car: shards, anyOrder: true },
        },
        { what: "of a document is left aside", path: bytes("0:1", `${cbor}`), body: { car: [cbor] } },
        { what: "of one block", path: bytes("3:5", `${f.hello}`), body: { car: [f.hello] } },
        { what: "before a lost piece", path: bytes("0:100", `${gapFile}`), body: { car: [gapFile, before] } },
        { what: "behind a lost piece", path: bytes("600:*", `${gapFile}`), body: { car: [gapFile, after] } },
        {
          what: "without a scope",
          path: `${f.multi}?format=car&entity-bytes=0:0`,
          body: { car: [f.multi, ...f.pieces.slice(0, 1)] },
        },
        { what: "with another scope", path: `${f.multi}?format=car&dag-scope=all&entity-bytes=0:0`, status: 400 },
        ...["1", "a:b", "*:5", "1:2:3", "0:1e9", `0:${"9".repeat(30)}`, ""].map((range) => ({
          what: `"${range.slice(0, 9)}"`,
          path: bytes(range),
          status: 400,
        })),
        { what: "a tag of its own", path: bytes("0:0"), shows: { etag: /^"/ }, otherTag: bytes("0:1") },
        { what: "HEAD", path: bytes("512:1023"), method: "HEAD", shows: { "content-type": /dups=n/ } },
      ].map((check) => ({ status: 200, ...check })),
      "entity-bytes",
    ),
    ...listed(
      [
        {
          what: "dups=y",
          headers: accept(`${carType}; version=1; order=dfs; dups=y`),
          shows: { "content-type": /order=dfs; dups=y/ },
          body: { car: often },
        },
        {
          what: "dups=n",
          headers: accept(`${carType}; version=1; order=dfs; dups=n`),
          shows: { "content-type": /order=dfs; dups=n/ },
          body: { car: once },
        },
        {
          what: "nothing about repeats",
          headers: accept(carType),
          shows: { "content-type": /dups=n/ },
          body: { car: once },
        },
        {
          what: "order=unk",
          headers: accept(`${carType}; order=unk`),
          shows: { "content-type": dfs },
          body: { car: once },
        },
        { what: "an order that nobody knows", headers: accept(`${carType}; order=foo`), status: [400, 406] },
        { what: "a version that is not made", headers: accept(`${carType}; version=2`), status: [400, 406] },
        { what: "repeats that nobody knows", headers: accept(`${carType}; dups=maybe`), status: [400, 406] },
        {
          what: "the second of a list",
          headers: accept(`${carType};order=foo, ${carType};order=dfs;dups=y;q=0.5`),
          shows: { "content-type": /dups=y/ },
          body: { car: often },
        },
        {
          what: "car-dups",
          query: "?format=car&car-dups=y",
          shows: { "content-type": /dups=y/ },
          body: { car: often },
        },
        { what: "car-order", query: "?format=car&car-order=dfs", shows: { "content-type": dfs }, body: { car: once } },
        { what: "car-version", query: "?format=car&car-version=1", shows: { "content-type": /version=1/ } },
        { what: "car-version that is not made", query: "?format=car&car-version=2", status: [400, 406] },
        { what: "car-order that nobody knows", query: "?format=car&car-order=bfs", status: [400, 406] },
        {
          what: "car-dups before Accept",
          query: "?car-dups=n",
          headers: accept(`${carType};dups=y`),
          shows: { "content-type": /dups=n/, "content-location": /car-dups=n/ },
          body: { car: once },
        },
        {
          what: "Accept beside the format",
          query: "?format=car",
          headers: accept(`${carType};dups=y`),
          shows: { "content-type": /dups=y/, "content-location": /format=car&car-dups=y/ },
          body: { car: often },
        },
        { what: "repeats of one file", path: `${d}`, query: "?format=car&car-dups=y", body: { car: [d, x, x, y] } },
        {
          what: "repeats in a range",
          path: `${d}`,
          query: "?format=car&car-dups=y&entity-bytes=0:511",
          body: { car: [d, x, x] },
        },
        {
          what: "a range of a file with repeats",
          path: `${d}`,
          query: "?format=car&entity-bytes=256:511",
          body: { car: [d, x] },
        },
        { what: "a tag of its own", query: "?format=car&car-dups=y", otherTag: `${twice.root}?format=car` },
      ].map(({ path = `${twice.root}`, query = "", ...check }) => ({ status: 200, ...check, path: path + query })),
      "CAR parameters",
    ),
  ];
}

function pieceOf({ blocks }: { blocks: readonly Block[] }, letter: string): CID {
  const found = blocks.find(
    ({ bytes }) => bytes.length === 256 && bytes.every((byte) => byte === letter.charCodeAt(0)),
  );
  if (!found) throw new Error(`no piece of ${letter}`);
  return found.cid;
}

/** The blocks of the sharded directory on the way to a name, by the links that name it. */
function shardsTo({ sharded }: Fixtures, name: string): CID[] {
  const byCid = new Map(sharded.blocks.map(({ cid, bytes }) => [`${cid}`, bytes]));
  const search = (cid: CID): CID[] | null => {
    if (cid.code !== 0x70) return null;
    for (const { Name = "", Hash } of decodePb(byCid.get(`${cid}`) ?? new Uint8Array()).Links) {
      if (Name.slice(2) === name) return [cid];
      const below = Name.length === 2 ? search(Hash) : null;
      if (below) return [cid, ...below];
    }
    return null;
  };
  return search(sharded.root) ?? [];
}
