import { base58flickr } from "multiformats/bases/base58";
import { bases } from "multiformats/basics";
import { CID } from "multiformats/cid";
import { encodeAbiParameters } from "viem";
import { expect, test } from "vitest";
import { parseCid } from "../../src/ipfs/parse-cid.ts";
import { decodeLabel, decodeText, isReturnedText } from "../../src/metadata/read/call-contract.ts";
import { parseIpfsUri } from "../../src/metadata/read/ipfs-location.ts";
import { parseDocument } from "../../src/metadata/read/parse-document.ts";
import { decodeDataUri } from "../../src/metadata/read/read-document.ts";
import { type FaultCode, readRetryAfter, retryAfterMs } from "../../src/outbound/fault.ts";
import { measuredSlowness } from "../setup/wait.ts";

const multibases = Object.values(bases).filter(({ name }) => name !== "identity");
const v0 = "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG";
const v1 = "bafybeie5nqv6kd3qnfjupgvz34woh3oksc3iau6abmyajn7qvtf6d2ho34";
const raw = "bafkreifzjut3te7nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e";

test.each([
  [`ipfs://${raw}`, raw, []],
  [`ipfs://ipfs/${raw}/7.json`, raw, ["7.json"]],
  [`ipfs://${raw}?x=1#y`, raw, []],
  [v0, v1, []],
  [`/ipfs/${v0}/7`, v1, ["7"]],
  [`https://ipfs.io/ipfs/${v0}/7`, v1, ["7"]],
  [`https://my.pinata.cloud/ipfs/${raw}?token=1`, raw, []],
  [`https://${raw}.ipfs.dweb.link/7`, raw, ["7"]],
])("%s names IPFS content", (uri, cid, path) => {
  expect(parseIpfsUri(uri)).toEqual([{ cid, path }]);
});

test.each([
  [`IPFS://${raw}/Wookz#525.json`, ["Wookz#525.json", "Wookz"]],
  [`${raw}/Who?.json`, ["Who?.json", "Who"]],
  [`/ipfs/${raw}/a%20b/7?x#y`, ["a b/7?x#y", "a%20b/7?x#y", "a b/7", "a%20b/7"]],
  // Of a web address the standard says what is no name.
  [`https://ipfs.io/ipfs/${raw}/Wookz#525.json`, ["Wookz", "Wookz#525.json"]],
  [`https://${raw}.ipfs.dweb.link/7?token=1`, ["7", "7?token=1"]],
])("%s may mean several names", (uri, names) => {
  expect(parseIpfsUri(uri)?.map(({ cid, path }) => [cid, path.join("/")])).toEqual(names.map((name) => [raw, name]));
});

test.each([...multibases.map((base) => [base.name, base] as const)])("a CID in %s is read", (_name, base) => {
  const text = CID.parse(raw).toString(base as never);
  // A slash of base 64 ends a name, unless it is escaped; so does a letter outside ASCII in a web address.
  const written = encodeURIComponent(text);
  for (const uri of [`ipfs://${written}/7`, `/ipfs/${written}/7`, `https://ipfs.io/ipfs/${written}/7`])
    expect([uri, parseIpfsUri(uri)?.[0]]).toEqual([uri, { cid: raw, path: ["7"] }]);
  expect(parseCid(text)?.toString()).toBe(raw);
});

test("a text of another base, of no CID, or of a length that no CID has is none", () => {
  const flickr = CID.parse(raw).toString(base58flickr as never);
  for (const text of [`Y${flickr.slice(1)}`, flickr.slice(0, -1), `z${"1".repeat(5_000)}`, "", "b", "uploads"])
    expect([text, parseCid(text)]).toEqual([text, null]);
});

test.each(["https://example.com/7", "ipfs://nonsense", "", "7", "https://example.com/ipfs/none"])(
  "%s names none",
  (uri) => {
    expect(parseIpfsUri(uri)).toBeNull();
  },
);

test.each([
  ["data:application/json;base64,eyJhIjoi8J+QiSJ9", '{"a":"🐉"}'],
  ["data:application/json,%7B%22a%22%3A%20100%25%7D", '{"a": 100%}'],
  ['data:application/json;utf8,{"a":"100% #1 ü"}', '{"a":"100% #1 ü"}'],
  ["data:,", ""],
])("%s is decoded", (uri, text) => {
  const answer = decodeDataUri(uri);
  expect("bytes" in answer && Buffer.from(answer.bytes).toString()).toBe(text);
});

test("a data URI over its limit or without a comma is a fault", () => {
  expect(decodeDataUri(`data:,${"a".repeat(1_048_577)}`)).toEqual({ fault: "too_large" });
  expect(decodeDataUri(`data:,${"%61".repeat(1_048_576)}`)).toHaveProperty("bytes.length", 1_048_576);
  expect(decodeDataUri("data:application/json")).toEqual({ fault: "uri_unsupported" });
});

test.each([
  ["", "not_json"],
  ["<html>", "not_json"],
  ["[]", "not_an_object"],
  ["null", "not_an_object"],
  ['"text"', "not_an_object"],
  [`{"a":${"[".repeat(50_000)}${"]".repeat(50_000)}}`, "too_complex"],
  [`{${Array.from({ length: 6_000 }, (_, at) => `"${at}":1`).join(",")}}`, "too_complex"],
  ['{"a":"\0"', "not_json"],
])("%.20s… is stored as a fault", (text, fault) => {
  expect(parseDocument(Buffer.from(text))).toEqual({ fault });
});

test("what Postgres cannot hold is taken out of the columns; the text stays as it is", () => {
  const text =
    '{"name":"a\\u0000b\\ud800","description":7,"image":"","image_url":"ipfs://x","animation_url":{"a":1e400000}}';
  expect(parseDocument(Buffer.from(`\ufeff${text}`))).toMatchObject({
    ...{ text, name: "ab\ufffd", description: "7", image: "ipfs://x", animationUrl: null },
  });
});

test("a number in place of a text is shown as it is written", () => {
  const numbers = ["9007199254740993", "-0", "1.50", "1e400", "1E3", `${"7".repeat(30)}.0`];
  for (const number of numbers)
    expect(parseDocument(Buffer.from(`{"name":${number},"description":${number},"n":1}`))).toMatchObject({
      ...{ name: number, description: number, warnings: [] },
    });
});

test("NUL is left out of the names of members too", () => {
  const text = '{"na\\u0000me":"Key","image":"a","image\\u0000":"b","\\ud800":1}';
  expect(parseDocument(Buffer.from(text))).toMatchObject({ text, name: "Key", image: "b" });
});

test("an id in the texts of a document is filled in, and the document keeps its mark", () => {
  const id = `${"0".repeat(61)}13a`;
  const text =
    '{"name":"Potion {id}","description":"{ID} and {id}","image":"ipfs://x/{id}.png","animation_url":"https://x/%7Bid%7D"}';
  const filled = { name: `Potion ${id}`, description: `${id} and ${id}`, image: `ipfs://x/${id}.png`, id };
  expect(parseDocument(Buffer.from(text), id)).toMatchObject({ text, ...filled, animationUrl: `https://x/${id}` });
  // Its mark may be written in escapes, which only a parser of JSON reads.
  const escaped = '{"name":"\\u007bid}","attributes":{"a":"{\\u0069d}"}}';
  expect(parseDocument(Buffer.from(escaped), id)).toMatchObject({ name: id, id });
  // No other standard has it.
  expect(parseDocument(Buffer.from(text))).toMatchObject({
    text,
    name: "Potion {id}",
    image: "ipfs://x/{id}.png",
    id: null,
  });
  expect(parseDocument(Buffer.from('{"name":"Potion"}'), id)).toMatchObject({ id: null });
  // What is filled in counts for the bounds.
  const long = JSON.stringify({ name: "{id}".repeat(20_000), image: `data:,${"{id}".repeat(24_000)}` });
  const cut = parseDocument(Buffer.from(long), id);
  expect(cut).toMatchObject({ image: null, warnings: ["name:cut", "image:too_large"] });
  expect("name" in cut && cut.name?.length).toBe(65_536);
});

test.each([
  ['{"a":"x\ny"}', '{"a":"x\\u000ay"}'],
  ['{"a":[1,2,],}', '{"a":[1,2]}'],
  ['{"a":"\0,]"} ', '{"a":"\\u0000,]"} '],
  [JSON.stringify('{"a":1.0}'), '{"a":1.0}'],
  // Half of a pair, in the text that holds a text: it must not become whole with an escape of the inner one.
  ['"{\\"a\\":\\"\\\\ud83d\\ude00\\"}"', '{"a":"\\ud83d\ufffd"}'],
])("%s is repaired, and its bytes are kept", (text, repaired) => {
  expect(parseDocument(Buffer.from(text))).toMatchObject({ text: repaired, raw: Buffer.from(text) });
});

test("UTF-16 and a byte order mark are read; a document in plain UTF-8 is kept once", () => {
  const text = '{"name":"ü"}';
  expect(parseDocument(Buffer.from(`\ufeff${text}`, "utf16le"))).toMatchObject({ text, name: "ü" });
  expect(parseDocument(Buffer.from(`\ufeff${text}`, "utf16le").swap16())).toMatchObject({ text, name: "ü" });
  expect(parseDocument(Buffer.from(text, "utf16le"))).toMatchObject({ text, name: "ü", warnings: [] });
  expect(parseDocument(Buffer.from(text, "utf16le").swap16())).toMatchObject({ text, name: "ü", warnings: [] });
  expect(parseDocument(Buffer.from(text))).toMatchObject({ text, raw: null, warnings: [] });
});

test("bytes that are no text are told, and U+FFFD that was written is not", () => {
  expect(parseDocument(Buffer.from('{"name":"Café"}', "latin1"))).toMatchObject({
    ...{ text: '{"name":"Caf\ufffd"}', name: "Caf\ufffd", warnings: ["metadata:undecodable"] },
  });
  expect(parseDocument(Buffer.from('{"name":"Caf\ufffd"}'))).toMatchObject({ name: "Caf\ufffd", warnings: [] });
  const word = (hex: string) => hex.padStart(64, "0");
  const returned = (hex: string) =>
    Buffer.from(word("20") + word((hex.length / 2).toString(16)) + hex.padEnd(64, "0"), "hex");
  for (const [hex, text, whole] of [
    ["436166e9", "Caf\ufffd", false],
    ["436166c3a9", "Café", true],
    ["436166efbfbd", "Caf\ufffd", true],
  ] as const)
    expect([hex, decodeText(returned(hex)), isReturnedText(returned(hex))]).toEqual([hex, text, whole]);
});

const returned = (text: string) => Buffer.from(encodeAbiParameters([{ type: "string" }], [text]).slice(2), "hex");

test("a returned string is decoded, also from the bytes32 of old contracts", () => {
  expect(decodeText(returned("ipfs://x/7"))).toBe("ipfs://x/7");
  expect(decodeText(returned(""))).toBe("");
  expect(decodeLabel(Buffer.from("MKR".padEnd(32, "\0")))).toBe("MKR");
  expect(decodeLabel(returned(`\u202eevil\n\0${"x".repeat(1000)}`))).toBe(`evil${"x".repeat(252)}`);
});

test("a return value with a wrong offset or length is no text", () => {
  const word = (value: bigint) => Buffer.from(value.toString(16).padStart(64, "0"), "hex");
  for (const words of [
    [],
    [32n],
    [2n ** 256n - 1n, 1n],
    [32n, 2n ** 64n],
    [32n, 2n ** 255n],
    [64n, 1n],
    [32n, 33n, 0n],
  ]) {
    const data = Buffer.concat(words.map(word));
    if (data.length !== 32) expect([words, decodeText(data)]).toEqual([words, null]);
  }
});

test("the back-off grows, and ends after eight tries", () => {
  const after = (fault: FaultCode, attempts: number) => retryAfterMs({ fault }, attempts);
  expect(after("http_404", 1)).toBeLessThan(70_000);
  expect(after("http_404", 2)).toBeGreaterThan(200_000);
  expect(after("http_404", 7)).toBeGreaterThan(60 * 3_600_000);
  // Then it is left until somebody asks for it. A silent node says nothing of the token.
  for (const fault of ["http_404", "call_failed", "internal_error"] as const) expect(after(fault, 8)).toBeNull();
  expect(after("rpc_unavailable", 1_000)).toBeLessThanOrEqual(300_000);
  // A server's own word counts where it is longer; a bound that only the operator can raise is not tried soon.
  expect(retryAfterMs({ fault: "http_429", waitMs: 3_600_000 }, 1)).toBe(3_600_000);
  expect(retryAfterMs({ fault: "http_503", waitMs: 1_000 }, 1)).toBeGreaterThan(50_000);
  for (const fault of ["call_out_of_gas", "call_too_large"] as const)
    expect(after(fault, 1)).toBeGreaterThan(3_000_000);
});

test("Retry-After is read in both of its forms, up to a day", () => {
  const inAnHour = new Date(Date.now() + 3_600_000).toUTCString();
  const hour = readRetryAfter(inAnHour) ?? 0;
  expect(Math.abs(hour - 3_600_000)).toBeLessThan(60_000 * measuredSlowness);
  for (const [value, ms] of [
    ["3600", 3_600_000],
    [" 120 ", 120_000],
    ["0", 0],
    ["99999999999", 86_400_000],
    ["Wed, 21 Oct 2015 07:28:00 GMT", 0],
    ["soon", null],
    ["-1", null],
    ["1.5", null],
    ["", null],
    [null, null],
  ] as const)
    expect([value, readRetryAfter(value)]).toEqual([value, ms]);
});
