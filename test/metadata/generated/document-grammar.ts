import type { SeededGenerator } from "../../setup/seeded-generator.ts";
import { images } from "../corpus.ts";
import { oddText, quoted, type Spelling, textOf } from "./text-grammar.ts";
import { member, numberOf, traitMembers, type Writer } from "./trait-grammar.ts";

/*
 * Documents by a grammar of oddities.
 */

/** Where pictures can be put; each returns a link. */
export interface Shelf {
  /** On a server; `status` other than 200: it refuses. */
  web(bytes: Uint8Array, status: number): string;
  /** In the content store, or at a gateway alone, by itself or in a folder of odd names. */
  ipfs(random: SeededGenerator, bytes: Uint8Array): string;
  /** Of content that nobody has. */
  missing(random: SeededGenerator): string;
}

const nonTexts = ["true", "false", "null", "{}", "[]", '["a"]', '{"a":1}'];
const svgTags = [
  'width="10" height="20"',
  "width='10px' height='20px'",
  'viewBox="0 0 350 200"',
  'viewBox="0,0,35,45"',
  'viewBox="0, 0, 24, 48"',
  'width="100%" height="100%" viewBox="0 0 290 500"',
  'preserveAspectRatio="xMinYMin meet" viewBox="0 0 350 350"',
  "",
  'width="0" height="0"',
];

function drawing(random: SeededGenerator): string {
  const tag = `<svg xmlns="http://www.w3.org/2000/svg" ${random.pick(svgTags)}>`;
  const inside = random.chance(0.1)
    ? `<text>${"x".repeat(random.pick([17_000, 70_000, 300_000]))}</text>`
    : `<rect fill="#ff0"/><text>${random.pick(["100%", "%23", "é", "a&amp;b", "猫", "'"])}</text>`;
  const before = random.pick(["", "", "", '<?xml version="1.0" encoding="UTF-8"?>', "<!-- drawn -->", "\n "]);
  return `${before}${tag}${inside}</svg>`;
}

export function pictureBytes(random: SeededGenerator): Uint8Array {
  const [width, height] = [random.between(1, 4_000), random.between(1, 4_000)];
  const kind = random.below(8);
  if (kind < 2) return Buffer.from(drawing(random));
  if (kind === 2) return Buffer.from(random.pick(["<html></html>", '{"no":"picture"}', "hello"]));
  const format = random.pick(["png", "gif", "webp", "jpeg", "bmp"] as const);
  const head = images[format](width, height);
  return random.chance(0.15) ? Buffer.concat([head, Buffer.alloc(random.pick([3_000, 90_000, 300_000]), 65)]) : head;
}

function dataUri(random: SeededGenerator): string {
  const picture = pictureBytes(random);
  const type = random.pick(["image/svg+xml", "image/png", ""]);
  if (random.chance(0.5)) return `data:${type};base64,${Buffer.from(picture).toString("base64")}`;
  const svg = drawing(random);
  return random.pick([
    `data:image/svg+xml;utf8,${svg}`,
    `data:image/svg+xml,${encodeURIComponent(svg)}`,
    `data:image/svg+xml;charset=utf-8,${svg.replaceAll("#", "%23").replaceAll('"', "'")}`,
    `DATA:image/svg+xml;base64,${Buffer.from(svg).toString("base64")}`,
  ]);
}

function linkOf(random: SeededGenerator, shelf: Shelf): string {
  const kind = random.below(24);
  if (kind < 5) return shelf.ipfs(random, pictureBytes(random));
  if (kind < 9)
    return shelf.web(pictureBytes(random), random.chance(0.8) ? 200 : random.pick([403, 404, 410, 500, 503]));
  if (kind < 14) return dataUri(random);
  if (kind < 17) return drawing(random);
  if (kind === 17) return encodeURIComponent(drawing(random).trim());
  if (kind === 18) return shelf.missing(random);
  if (kind === 19) return ` ${shelf.ipfs(random, pictureBytes(random))}\n`;
  return random.pick([
    ...["", "  ", "7.png", "ftp://example.com/{id}.png", "javascript:alert(1)", "<html></html>", "ipfs://soon"],
    ...["data:image/png;base64,AAAA", "data:nothing", "//example.com/1.png", `i://${"x".repeat(20_000)}`],
  ]);
}

/** A text, or now and then what is none. */
function wordOf(writer: Writer): string {
  const { random, spelling } = writer;
  const kind = random.below(16);
  if (kind === 0) return random.pick(nonTexts);
  if (kind === 1) return numberOf(random);
  return quoted(random, oddText(random), spelling);
}

function linkMembers(writer: Writer, shelf: Shelf): string[] {
  const { random, spelling } = writer;
  const link = () =>
    random.chance(0.1) ? random.pick([...nonTexts, "7", '""']) : quoted(random, linkOf(random, shelf), spelling);
  const names = random.pick([
    ...[["image"], ["image"], ["image"], ["image_url"], ["image_data"], ["svg_image_data"], ["image", "image_url"]],
    ...[["image", "image_data"], ["image_data", "image"], ["image_url", "image"], ["image", "image"], ["image\0"], []],
  ]);
  const members = names.map((name) => member(writer, name, link()));
  return random.chance(0.2) ? [...members, member(writer, "animation_url", link())] : members;
}

/** Members that nobody shows, and that may cost a document its traits. */
function strangeMembers(writer: Writer): string[] {
  const { random } = writer;
  if (random.chance(0.6)) return [];
  return [
    random.pick([
      ...['"n":1e400', '"n":-0', '"n":1e200000', '"n":9007199254740993', '"__proto__":{"name":"evil"}', '"":1'],
      ...[
        '"bio":"a\\u0000b"',
        '"bio":"\\ud83d"',
        '"a\\u0000":1',
        '"\\udc00":2',
        '"bio":"\\\\u0000"',
        '"x":"\\u007bid}"',
      ],
      `"deep":${"[".repeat(60)}${"]".repeat(60)}`,
      `"deep":${"[".repeat(70)}${"]".repeat(70)}`,
      `"deep":${'{"a":'.repeat(62)}1${"}".repeat(62)}`,
      `"wide":{${Array.from({ length: random.pick([2_000, 5_100]) }, (_, at) => `"${at}":1`).join()}}`,
      `"long":"${"x".repeat(random.pick([60_000, 70_000, 300_000]))}"`,
    ]),
  ];
}

const spellings: readonly Spelling[] = ["plain", "plain", "plain", "ascii", "any", "any", "sloppy"];

/** A document as text. */
export function documentOf(random: SeededGenerator, shelf: Shelf): string {
  const writer = { random, spelling: random.pick(spellings) };
  const members = [
    ...(random.chance(0.95) ? [member(writer, "name", wordOf(writer))] : []),
    ...(random.chance(0.06) ? [member(writer, random.pick(["name", "name\0"]), wordOf(writer))] : []),
    ...(random.chance(0.6) ? [member(writer, "description", wordOf(writer))] : []),
    ...(random.chance(0.1) ? [member(writer, "external_url", quoted(random, textOf(random), "plain"))] : []),
    ...linkMembers(writer, shelf),
    ...traitMembers(writer),
    ...strangeMembers(writer),
  ];
  const ordered = random.chance(0.5) ? members : members.toReversed();
  const comma = random.pick([",", ",", ", ", ",\r\n\t"]);
  const end = random.chance(0.05) ? "," : "";
  const document = `{${ordered.join(comma)}${end}}`;
  switch (random.below(40)) {
    case 0:
      return random.pick([
        `[${document}]`,
        "null",
        '"text"',
        "",
        "<!doctype html><p>gone",
        `${document}}`,
        document.slice(0, -1),
      ]);
    case 1:
      return quoted(random, document, random.pick(["plain", "any"]));
    case 2:
      return `\n ${document}\n`;
    default:
      return document;
  }
}
