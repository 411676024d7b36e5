import { gzipSync } from "node:zlib";
import { bases } from "multiformats/basics";
import { CID } from "multiformats/cid";
import { SeededGenerator } from "../../setup/seeded-generator.ts";
import type { Answer } from "./expected-bytes.ts";

/*
 * What contracts return for a document, and how its bytes are written.
 */

/** Where a document is put before its URI can be written. */
export interface Site {
  /** Of the server. */
  origin: string;
  /** The same server under a name that no other token has. */
  ownOrigin: string;
  answer(path: string, answer: Partial<Answer>): void;
  /** A file by itself. @returns its CID. */
  file(bytes: Uint8Array, isStored: boolean): string;
  /** A file in the folder of all documents. @returns the folder's CID once all are in it. */
  folder(name: string, bytes: Uint8Array): () => string;
}

const spelled = Object.values(bases).filter(({ name }) => name !== "identity" && name !== "base256emoji");

/** A CID in any of its spellings. @param hex of version 1. */
function cidText(random: SeededGenerator, hex: string, inHost = false): string {
  const cid = CID.decode(Buffer.from(hex, "hex"));
  if (inHost) return cid.toString(random.pick([bases.base32, bases.base36]) as never);
  if (cid.code === 0x70 && random.chance(0.4)) return cid.toV0().toString();
  // A slash of base 64 would end the name.
  return encodeURIComponent(cid.toString(random.pick(random.chance(0.5) ? [bases.base32] : spelled) as never));
}

/** A link to a file, by itself or by its name in a folder. */
export function ipfsUri(random: SeededGenerator, hex: string, name: string | null, origin: string): string {
  const written = name !== null && random.chance(0.5) ? encodeURIComponent(name) : name;
  const path = written === null ? "" : `/${written}`;
  const end = random.chance(0.15) ? random.pick(["?x=1", "#y", "?a=b#c", "/"]) : "";
  const cid = cidText(random, hex);
  const { port } = new URL(origin);
  return random
    .pick([
      ...[`ipfs://${cid}${path}`, `ipfs://${cid}${path}`, `ipfs://${cid}${path}`, `ipfs://ipfs/${cid}${path}`],
      ...[`IPFS://${cid}${path}`, `/ipfs/${cid}${path}`, `${cid}${path}`, `${origin}/ipfs/${cid}${path}`],
      `http://${cidText(random, hex, true)}.ipfs.localhost:${port}${path}`,
    ])
    .concat(end);
}

/** Names of files that say something else in a URI; each has the number in it. */
export function oddName(random: SeededGenerator, number: number): string {
  return random.pick([
    ...[
      `${number}`,
      `${number}.json`,
      `a b ${number}.json`,
      `Ape#${number}.json`,
      `Who?${number}`,
      `Who?${number}#x.json`,
    ],
    ...[
      `100%${number}.json`,
      `%20${number}`,
      `%2F${number}`,
      `名前${number}`,
      `é${number}`.normalize("NFD"),
      `${number}+1 &=.json`,
    ],
    ...[`%C3%A9${number}`, `🔥${number}`, `\\${number}`, `'${number}"`],
  ]);
}

/** The bytes of a text in one of the encodings that people save files in; now and then with some that are no text. */
function encoded(random: SeededGenerator, text: string): Uint8Array {
  const utf8 = Buffer.from(text);
  const little = (whole: string) => Buffer.from(whole, "utf16le");
  switch (random.below(24)) {
    case 0:
      return Buffer.from(`\ufeff${text}`);
    case 1:
      return little(`\ufeff${text}`);
    case 2:
      return little(`\ufeff${text}`).swap16();
    case 3:
      return random.chance(0.5) ? little(text) : little(text).swap16();
    case 4:
      return Buffer.from(text, "latin1");
    case 5: {
      const at = utf8.indexOf(random.pick(['"name', '":"', "a"])) + 3;
      return Buffer.concat([utf8.subarray(0, at), Buffer.from([0xff]), utf8.subarray(at)]);
    }
    default:
      return utf8;
  }
}

function base64Of(random: SeededGenerator, bytes: Uint8Array): string {
  const base64 = Buffer.from(bytes).toString("base64");
  switch (random.below(8)) {
    case 0:
      return base64.replace(/=+$/, "");
    case 1:
      return Buffer.from(bytes).toString("base64url");
    case 2:
      return encodeURIComponent(base64);
    case 3:
      return ` ${base64.replaceAll(/.{76}/g, "$&\n")}`;
    default:
      return base64;
  }
}

/** `data:` URIs, and documents in place of a URI. */
function inItself(random: SeededGenerator, text: string): string {
  const bytes = () => encoded(random, text);
  const escaped = () => encodeURIComponent(text.toWellFormed());
  return random.pick([
    () => `data:application/json;base64,${base64Of(random, bytes())}`,
    () => `data:application/json;base64,${base64Of(random, bytes())}`,
    () => `data:application/json;charset=utf-8;base64,${base64Of(random, bytes())}`,
    () => `DATA:;BASE64,${base64Of(random, bytes())}`,
    () => `data:application/json;base64,${text}`,
    () => `data:application/json,${base64Of(random, Buffer.from(text))}`,
    () => `data:application/json,${escaped()}`,
    () => `data:application/json;utf8,${text}`,
    () => `data:application/json;utf8,${text}`,
    () => `data:text/plain;charset=UTF-8,${text.replaceAll("%", "%25")}`,
    () => `data:,${text}`,
    () => text,
    () => `\n${text} `,
    escaped,
  ])();
}

const tails = ["", ".json", "/a b", "/%C3%A9", "/猫", "?x=1&y=%20", "#y", "/%"];

function onServer(random: SeededGenerator, site: Site, number: number, body: Uint8Array, id: string | null): string {
  const tail = random.pick(id === null ? tails : [...tails, "/{id}", "/{id}.json"]);
  const path = `/d/${number}${tail}`;
  const { pathname, search } = new URL(path.replaceAll("{id}", id ?? "{id}"), site.origin);
  const at = pathname + search;
  const kind = random.below(20);
  // One that is overloaded is asked nothing more: no other token may be there.
  if (kind < 4) {
    site.answer(at, refusal(random, body));
    return site.ownOrigin + path;
  }
  if (kind === 4) site.answer(at, { body: gzipSync(body), headers: { "content-encoding": "gzip" } });
  else if (kind === 5) site.answer(at, { body, headers: { "content-type": random.pick(["text/html", "image/png"]) } });
  else if (kind === 6)
    site.answer(at, { status: 302, headers: { location: random.pick([at, "ipfs://x", "data:,{}"]) } });
  else if (kind < 10) {
    let from = at;
    const hops = random.pick([1, 1, 2, 3, 4]);
    for (let hop = 1; hop <= hops; hop += 1) {
      const to = `/d/${number}/hop/${hop}`;
      const location = random.pick([to, `${site.origin}${to}`, `//${new URL(site.origin).host}${to}`, `${to}#x`]);
      site.answer(from, { status: random.pick([301, 302, 303, 307, 308]), headers: { location } });
      from = to;
    }
    site.answer(from, { body });
  } else site.answer(at, { body });
  return site.origin + path;
}

function refusal(random: SeededGenerator, body: Uint8Array): Partial<Answer> {
  const status = random.pick([401, 403, 404, 410, 429, 429, 451, 500, 503, 503, 304, 204]);
  const wait = random.pick(["7200", "Wed, 21 Oct 2065 07:28:00 GMT", "soon"]);
  const headers: Record<string, string> =
    [429, 503].includes(status) && random.chance(0.7) ? { "retry-after": wait } : {};
  return { status, headers, body: status === 204 || status === 304 ? new Uint8Array() : body };
}

/**
 * Puts a document somewhere.
 *
 * @param id of an ERC-1155 token, as 64 digits.
 * @returns what the contract returns, once all documents are at their places.
 */
export function placed(
  random: SeededGenerator,
  site: Site,
  { number, text, id }: { number: number; text: string; id: string | null },
): () => Uint8Array {
  const kind = random.below(100);
  const bytes = encoded(random, text);
  if (kind < 40) {
    const uri = inItself(random, text);
    const isLatin = random.chance(0.04);
    return () => Buffer.from(uri, isLatin ? "latin1" : "utf8");
  }
  // A larger file has more than one block.
  if (kind < 62 || bytes.length > 1_048_576) {
    const uri = onServer(random, site, number, bytes, id);
    return () => Buffer.from(uri);
  }
  if (kind < 72) {
    const cid = site.file(bytes, random.chance(0.7));
    const uri = ipfsUri(random, cid, null, site.origin);
    return () => Buffer.from(uri);
  }
  if (kind < 97) {
    const name = id !== null && random.chance(0.5) ? id : oddName(random, number);
    const folder = site.folder(name, bytes);
    // Of a name that a `#` or a `?` ends, now and then the shorter one is there too.
    if (/[#?]/.test(name) && random.chance(0.3))
      site.folder(name.split(/[#?]/, 1)[0] || "x", Buffer.from('{"name":"short"}'));
    const later = new SeededGenerator(random.below(2 ** 31));
    return () => {
      const uri = ipfsUri(later, folder(), name, site.origin);
      return Buffer.from(id === null ? uri : uri.replace(id, "{id}"));
    };
  }
  const uri = random.pick([
    ...[
      "",
      " ",
      "soon",
      "7",
      "ftp://example.com/7",
      "ipns://example.com/7",
      "ipfs://",
      "ipfs://hidden/7",
      "//example.com/7",
    ],
    ...[
      "http://",
      "http://user:secret@127.0.0.1/7",
      "data:application/json",
      "data:application/json,",
      "ar://AbC_dEf-123",
    ],
    ...[`${site.ownOrigin}/nowhere`, "javascript:alert(1)"],
  ]);
  return () => Buffer.from(uri);
}
