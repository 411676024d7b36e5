import { gzipSync } from "node:zlib";

/** A file that the strange server of the corpus serves. */
interface Served {
  status?: number;
  headers?: Record<string, string>;
  body: Uint8Array | string;
}

/** What a token's row must hold afterwards; members that are not named are not looked at. */
interface ExpectedRow {
  status: "fresh" | "failed";
  error_code?: string | null;
  name?: string | null;
  description?: string | null;
  image?: string | null;
  animation_url?: string | null;
  raw_cid?: string | null;
  metadata?: string;
  file_type?: string | null;
  file_width?: number | null;
  file_height?: number | null;
  file_size?: bigint | null;
  file_error?: string | null;
}

export interface Case {
  what: string;
  /** What the contract returns; `WEB`, `STORED`, `REMOTE`, `RAW` and the like are filled in, `SELF` is the served file. */
  uri: string;
  serve?: Served;
  expect: ExpectedRow;
}

const json = (value: unknown) => JSON.stringify(value);
const base64 = (text: string | Uint8Array) => Buffer.from(text).toString("base64");
const failed = (error_code: string): ExpectedRow => ({ status: "failed", error_code });
const fresh = (more: Partial<ExpectedRow> = {}): ExpectedRow => ({ status: "fresh", error_code: null, ...more });
const key = fresh({ name: "Key" });

/** First bytes of images; the decoder wants no more. */
export const images = {
  png: (width: number, height: number) => {
    const head = Buffer.from("89504e470d0a1a0a0000000d49484452000000000000000008060000000000000049454e44", "hex");
    head.writeUInt32BE(width, 16);
    head.writeUInt32BE(height, 20);
    return head;
  },
  gif: (width: number, height: number) => {
    const head = Buffer.from("GIF89a\0\0\0\0\0\0\0", "latin1");
    head.writeUInt16LE(width, 6);
    head.writeUInt16LE(height, 8);
    return head;
  },
  bmp: (width: number, height: number) => {
    const head = Buffer.alloc(54);
    head.write("BM");
    head.writeUInt32LE(width, 18);
    head.writeInt32LE(height, 22);
    return head;
  },
  webp: (width: number, height: number) => {
    const head = Buffer.alloc(30);
    head.write("RIFF");
    head.writeUInt32LE(22, 4);
    head.write("WEBPVP8X", 8);
    head.writeUInt32LE(10, 16);
    head.writeUIntLE(width - 1, 24, 3);
    head.writeUIntLE(height - 1, 27, 3);
    return head;
  },
  jpeg: (width: number, height: number) => {
    const frame = Buffer.from("ffc0001108000000000301220002110103110100", "hex");
    frame.writeUInt16BE(height, 5);
    frame.writeUInt16BE(width, 7);
    return Buffer.concat([Buffer.from("ffd8ffe000104a46494600010100000100010000", "hex"), frame]);
  },
  svg: (width: number, height: number) =>
    Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"></svg>`),
};

/** URIs that lead to one and the same document, `{"name":"Key"}`. */
const goodUris: [string, string][] = [
  ["ipfs:// of content stored here", "ipfs://STORED"],
  ["ipfs:// with the word twice", "ipfs://ipfs/STORED"],
  ["ipfs:// in capitals", "IPFS://STORED"],
  ["ipfs: without slashes", "ipfs:STORED"],
  ["ipfs: with three slashes", "ipfs:///STORED"],
  ["a bare CID", "STORED"],
  ["a path", "/ipfs/STORED"],
  ["a path without a slash", "ipfs/STORED"],
  ["a public gateway's URL", "https://ipfs.io/ipfs/STORED"],
  ["a gateway with the word twice", "https://ipfs.io/ipfs/ipfs/STORED"],
  ["a gateway with a query", "https://example.mypinata.cloud/ipfs/STORED?pinataGatewayToken=x"],
  ["a gateway by subdomain", "https://STORED.ipfs.dweb.link/"],
  ["a gateway over http with a port", "http://gateway.example:8080/ipfs/STORED"],
  ["spaces and a line end around it", "  ipfs://STORED \n"],
  ["a file of a stored directory", "ipfs://FOLDER/1.json"],
  ["a file of a stored directory, name encoded", "ipfs://FOLDER/a%20b.json"],
  ["a file of a stored directory through a gateway", "https://FOLDER.ipfs.nftstorage.link/1.json"],
  ["a query and a fragment behind ipfs://", "ipfs://FOLDER/1.json?x=1#y"],
  ["a trailing slash", "ipfs://FOLDER/1.json/"],
  ["one raw block from the operator's gateway", "ipfs://RAW"],
  ["a CIDv0 from the operator's gateway", "ipfs://REMOTEV0"],
  ["a directory's file from the operator's gateway", "ipfs://REMOTE/1.json"],
  ["a file of several blocks from the operator's gateway", "ipfs://BIG"],
  ["an identity CID: the content is in the name", "ipfs://IDENTITY"],
  ["a gateway of the contract's choice", "NAMED/ipfs/ONLYNAMED"],
  ["data: base64", `data:application/json;base64,${base64('{"name":"Key"}')}`],
  ["data: base64 without padding", `data:application/json;base64,${base64('{"name":"Key"}').replace(/=+$/, "")}`],
  [
    "data: base64 in the alphabet of URLs",
    `data:;base64,${Buffer.from('{"name":"Key","x":"??>>"}').toString("base64url")}`,
  ],
  ["data: with a character set and base64", `data:application/json;charset=utf-8;base64,${base64('{"name":"Key"}')}`],
  ["data: with white space in base64", `data:application/json;base64,\n ${base64('{"name":"Key"}')}\n`],
  ["data: percent-encoded", "data:application/json,%7B%22name%22%3A%22Key%22%7D"],
  ["data: as it is", 'data:application/json,{"name":"Key"}'],
  ["data: utf8", 'data:application/json;utf8,{"name":"Key"}'],
  ["data: without a type", 'data:,{"name":"Key"}'],
  ["data: in capitals", 'DATA:APPLICATION/JSON,{"name":"Key"}'],
  ["data: of another type", 'data:text/plain,{"name":"Key"}'],
  ["data: with stray percent and hash signs", 'data:application/json,{"name":"Key","x":"100% #1"}'],
  ["the document instead of a URI", '{"name":"Key"}'],
  ["http", "SELF"],
];

const badUris: [string, string, string][] = [
  ["nothing", "", "uri_empty"],
  ["white space", " \n\t ", "uri_empty"],
  ["a word", "soon", "uri_unsupported"],
  ["a number", "7", "uri_unsupported"],
  ["a host without a scheme", "example.com/7.json", "uri_unsupported"],
  ["a scheme-relative URL", "//example.com/7", "uri_unsupported"],
  ["ftp", "ftp://example.com/7", "uri_unsupported"],
  ["a script", "javascript:alert(1)", "uri_unsupported"],
  ["a file of ours", "file:///etc/passwd", "uri_unsupported"],
  ["a websocket", "wss://example.com/7", "uri_unsupported"],
  ["IPNS", "ipns://example.com/7", "uri_unsupported"],
  ["ipfs:// without a CID", "ipfs://", "uri_unsupported"],
  ["ipfs:// with a word", "ipfs://hidden/7", "uri_unsupported"],
  ["ipfs:// with a CID cut short", "ipfs://bafkreifzjut3te7nhy", "uri_unsupported"],
  ["content that nobody has", "ipfs://bafkreifzjut3te7nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e", "http_404"],
  ["a stored directory", "ipfs://FOLDER", "ipfs_is_directory"],
  ["a remote directory", "ipfs://REMOTE", "ipfs_is_directory"],
  ["a path that a remote directory lacks", "ipfs://REMOTE/9.json", "ipfs_not_found"],
  ["a path below a file", "ipfs://REMOTE/1.json/2", "ipfs_not_found"],
  ["a gateway that changes a byte", "ipfs://FORGED", "cid_mismatch"],
  ["a gateway that serves another file of a directory", "ipfs://SWAPPED/1.json", "cid_mismatch"],
  ["data: without a comma", "data:application/json", "uri_unsupported"],
  ["data: with nothing behind the comma", "data:application/json,", "not_json"],
  ["a server that is not there", "http://127.0.0.1:9/7", "fetch_failed"],
  ["a URL with a user", "http://user:secret@127.0.0.1/7", "address_refused"],
  ["a URL that is none", "http://", "address_refused"],
];

/** Documents as a server sends them. */
const documents: [string, string | Uint8Array, ExpectedRow][] = [
  [
    "a full document",
    json({ name: "Key", description: "d", image: "i://x", animation_url: "a://x" }),
    { ...key, description: "d", image: "i://x", animation_url: "a://x" },
  ],
  ["an empty object", "{}", fresh({ name: null, image: null })],
  ["image_url instead of image", json({ image_url: "i://y" }), fresh({ image: "i://y" })],
  ["an empty image and an image_url", json({ image: "", image_url: "i://y" }), fresh({ image: "i://y" })],
  ["an image that is an object", json({ image: { src: "x" } }), fresh({ image: null })],
  ["a name that is a number", '{"name":7}', fresh({ name: "7" })],
  ["a name that is an object", '{"name":{}}', fresh({ name: null })],
  ["a name that is null", '{"name":null}', fresh({ name: null })],
  ["a name that is a list", '{"name":["Key"]}', fresh({ name: null })],
  ["a name of 100,000 letters", json({ name: "n".repeat(100_000) }), fresh({ name: "n".repeat(65_536) })],
  ["the same member twice: the last one counts", '{"name":"a","name":"Key"}', key],
  ["__proto__ as a member", '{"__proto__":{"name":"evil"},"name":"Key"}', key],
  ["only __proto__", '{"__proto__":{"name":"evil"}}', fresh({ name: null })],
  [
    "numbers of any size",
    '{"name":"Key","n":1e400000,"m":123456789012345678901234567890,"e":1.0}',
    { ...key, metadata: '{"name":"Key","n":1e400000,"m":123456789012345678901234567890,"e":1.0}' },
  ],
  ["white space around it", ' \n{"name":"Key"}\n\n', key],
  ["a byte order mark", '\ufeff{"name":"Key"}', { ...key, metadata: '{"name":"Key"}' }],
  ["UTF-16, little end first", Buffer.from('\ufeff{"name":"Key"}', "utf16le"), key],
  ["UTF-16, big end first", Buffer.from('\ufeff{"name":"Key"}', "utf16le").swap16(), key],
  ["letters of many scripts", json({ name: "钥匙 🗝 مفتاح" }), fresh({ name: "钥匙 🗝 مفتاح" })],
  ["an escaped NUL", '{"name":"K\\u0000ey"}', key],
  ["a NUL as it is", '{"name":"K\0ey"}', key],
  ["half a surrogate pair", '{"name":"Key\\ud800"}', fresh({ name: "Key\ufffd" })],
  [
    "bytes that are no UTF-8",
    Buffer.from([0x7b, 0x22, 0x6e, 0x61, 0x6d, 0x65, 0x22, 0x3a, 0x22, 0xff, 0xfe, 0x22, 0x7d]),
    fresh({ name: "\ufffd\ufffd" }),
  ],
  ["a line break in a string", '{"name":"Key","description":"a\nb"}', { ...key, description: "a\nb" }],
  ["a tab in a string", '{"name":"Key","description":"a\tb"}', { ...key, description: "a\tb" }],
  ["a comma too many", '{"name":"Key","attributes":[1,2,],}', key],
  ["encoded twice", json('{"name":"Key"}'), key],
  ["right-to-left marks", json({ name: "\u202eyeK" }), fresh({ name: "\u202eyeK" })],
  [
    "a script as image",
    json({ image: "javascript:alert(1)" }),
    fresh({ image: "javascript:alert(1)", file_error: "uri_unsupported" }),
  ],
  ["2,000 members", `{"name":"Key",${Array.from({ length: 2_000 }, (_, at) => `"${at}":${at}`).join(",")}}`, key],
  ["50 levels", `{"name":"Key","a":${"[".repeat(50)}${"]".repeat(50)}}`, key],
  ["1 MB, not a byte more", `{"name":"Key","x":"${"x".repeat(1_048_576 - 22)}"}`, key],
  ["colons and brackets inside a string", json({ name: "Key", x: "[{:".repeat(5_000) }), key],
  ["a quote that is escaped at the end", '{"name":"Key","x":"\\\\\\""}', key],
  ["PostgreSQL's own escapes", json({ name: "Key", x: "\\x00 $1 %s '; DROP TABLE" }), key],
  ["nothing", "", failed("not_json")],
  ["a page", "<!doctype html><title>Not found</title>", failed("not_json")],
  ["half a document", '{"name":"Key"', failed("not_json")],
  ["single quotes", "{'name':'Key'}", failed("not_json")],
  ["NaN", '{"name":NaN}', failed("not_json")],
  ["two documents", "{}{}", failed("not_json")],
  ["a list", '[{"name":"Key"}]', failed("not_an_object")],
  ["null", "null", failed("not_an_object")],
  ["true", "true", failed("not_an_object")],
  ["a text", '"Key"', failed("not_an_object")],
  ["a number", "7", failed("not_an_object")],
  ["encoded three times", json(json('{"name":"Key"}')), failed("not_an_object")],
  ["50,000 levels", `{"a":${"[".repeat(50_000)}${"]".repeat(50_000)}}`, failed("too_complex")],
  ["65 levels of objects", `${'{"a":'.repeat(65)}1${"}".repeat(65)}`, failed("too_complex")],
  ["6,000 members", `{${Array.from({ length: 6_000 }, (_, at) => `"${at}":1`).join(",")}}`, failed("too_complex")],
  ["2 MB", `{"x":"${"x".repeat(2_000_000)}"}`, failed("too_large")],
  ["an image", images.png(1, 1), failed("not_json")],
  ["ten brackets that never close", "[".repeat(60), failed("not_json")],
];

/** Answers of a server that are more than a file. */
const answers: [string, Served, ExpectedRow][] = [
  ["gzip", { headers: { "content-encoding": "gzip" }, body: gzipSync('{"name":"Key"}') }, key],
  [
    "gzip twice",
    { headers: { "content-encoding": "gzip, gzip" }, body: gzipSync(gzipSync("{}")) },
    failed("bad_encoding"),
  ],
  ["gzip that is none", { headers: { "content-encoding": "gzip" }, body: "{}" }, failed("fetch_failed")],
  [
    "a gzip bomb",
    { headers: { "content-encoding": "gzip" }, body: gzipSync(Buffer.alloc(50_000_000, 32)) },
    failed("too_large"),
  ],
  ["a wrong content type", { headers: { "content-type": "text/html" }, body: '{"name":"Key"}' }, key],
  ["no content", { status: 204, body: "" }, failed("not_json")],
  ["not found", { status: 404, body: "{}" }, failed("http_404")],
  ["a server's error", { status: 500, body: "{}" }, failed("http_500")],
  ["a redirect", { status: 302, headers: { location: "GOOD" }, body: "" }, key],
  ["a permanent redirect", { status: 308, headers: { location: "GOOD" }, body: "" }, key],
  ["a redirect to itself", { status: 302, headers: { location: "SELF" }, body: "" }, failed("too_many_redirects")],
  [
    "a redirect to a file of ours",
    { status: 302, headers: { location: "file:///etc/passwd" }, body: "" },
    failed("address_refused"),
  ],
  ["a redirect to nowhere", { status: 302, body: "{}" }, failed("http_302")],
  [
    "cookies, many headers",
    {
      headers: Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`x-${at}`, "y".repeat(100)])),
      body: '{"name":"Key"}',
    },
    key,
  ],
  ["headers of 64 KB", { headers: { "x-big": "y".repeat(65_000) }, body: "{}" }, failed("fetch_failed")],
];

const sized = (type: string | null, width: number | null, height: number | null, bytes: Uint8Array): ExpectedRow =>
  fresh({
    file_type: type,
    file_width: width,
    file_height: height,
    file_size: BigInt(bytes.byteLength),
    file_error: null,
  });
const padded = Buffer.concat([images.png(4_000, 3_000), Buffer.alloc(3_000_000)]);

/** Images behind a document, as a server sends them. */
const media: [string, Served, ExpectedRow][] = [
  ["PNG", { body: images.png(640, 480) }, sized("image/png", 640, 480, images.png(1, 1))],
  ["GIF", { body: images.gif(320, 200) }, sized("image/gif", 320, 200, images.gif(1, 1))],
  ["BMP", { body: images.bmp(10, 20) }, sized("image/bmp", 10, 20, images.bmp(1, 1))],
  ["WebP", { body: images.webp(800, 600) }, sized("image/webp", 800, 600, images.webp(1, 1))],
  ["JPEG", { body: images.jpeg(1_024, 768) }, sized("image/jpeg", 1_024, 768, images.jpeg(1, 1))],
  ["SVG", { body: images.svg(50, 60) }, sized("image/svg+xml", 50, 60, images.svg(50, 60))],
  ["3 MB of PNG, of which 64 KB are read", { body: padded }, sized("image/png", 4_000, 3_000, padded)],
  [
    "3 MB of PNG of a server that does not say it",
    { status: 200, headers: { "transfer-encoding": "chunked" }, body: padded },
    fresh({ file_type: "image/png", file_width: 4_000, file_size: null, file_error: "size_unknown" }),
  ],
  [
    "a wrong type",
    { headers: { "content-type": "text/html" }, body: images.gif(3, 4) },
    sized("image/gif", 3, 4, images.gif(1, 1)),
  ],
  [
    "an MP4",
    { body: Buffer.from("\0\0\0\x18ftypmp42\0\0\0\0", "latin1") },
    fresh({ file_type: "video/mp4", file_width: null, file_size: 16n }),
  ],
  ["no image", { body: "<html>" }, fresh({ file_type: null, file_error: "not_media" })],
  ["no file", { status: 404, body: "" }, fresh({ file_type: null, file_error: "http_404" })],
  [
    "a PNG of 4 billion dots",
    { body: images.png(4_294_967_295, 1) },
    fresh({ file_type: "image/png", file_width: null, file_height: null }),
  ],
  [
    "a compressed image",
    { headers: { "content-encoding": "gzip" }, body: gzipSync(images.png(1, 1)) },
    fresh({ file_error: "bad_encoding" }),
  ],
];

/** Every case: at least 120 URIs, documents, answers and images. */
export const corpus: readonly Case[] = [
  ...goodUris.map(([what, uri]) => ({
    what,
    uri,
    expect: key,
    ...(uri === "SELF" ? { serve: { body: '{"name":"Key"}' } } : {}),
  })),
  ...badUris.map(([what, uri, fault]) => ({ what: `URI: ${what}`, uri, expect: failed(fault) })),
  ...documents.map(([what, body, expect]) => ({ what: `document: ${what}`, uri: "SELF", serve: { body }, expect })),
  ...answers.map(([what, serve, expect]) => ({ what: `answer: ${what}`, uri: "SELF", serve, expect })),
  ...media.map(([what, serve, expect]) => ({
    what: `image: ${what}`,
    uri: 'data:application/json,{"image":"SELF"}',
    serve,
    expect,
  })),
  {
    what: "image: stored here",
    uri: 'data:application/json,{"image":"ipfs://IMAGE"}',
    expect: sized("image/png", 7, 8, images.png(7, 8)),
  },
  {
    what: "image: in a data URI",
    uri: `data:application/json,{"image":"data:image/gif;base64,${base64(images.gif(5, 6))}"}`,
    expect: sized("image/gif", 5, 6, images.gif(1, 1)),
  },
  {
    what: "image: a whole SVG in a data URI",
    uri: "data:application/json,{\"image\":\"data:image/svg+xml;utf8,<svg xmlns='http://www.w3.org/2000/svg' width='9' height='11'/>\"}",
    expect: fresh({ file_type: "image/svg+xml", file_width: 9, file_height: 11 }),
  },
];
