import { images } from "./corpus.ts";

export interface Odd {
  what: string;
  /** What the contract returns. */
  uri: string;
  /** NAME=VALUE, in their order. */
  traits?: string[];
  warnings?: string[];
  /** Shown as the picture; null: there is none. */
  picture?: string | null;
  /** Width and height of it. */
  size?: [number, number];
  /** Why there is no document. */
  error?: string;
}

export const fur = '"attributes":[{"trait_type":"Fur","value":"red"}]';
const list = '[{"trait_type":"Fur","value":"red"}]';
const text = JSON.stringify;
const svg = images.svg(10, 20).toString();
const drawn = (drawing: string) => `data:image/svg+xml;base64,${Buffer.from(drawing).toString("base64")}`;
const boxed = (box: string) => `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${box}"></svg>`;
const long = `${svg.slice(0, -6)}<text>${"x".repeat(300_000)}</text></svg>`;

/** What is odd of the traits, the document around them included. */
const traits: [what: string, document: string, traits: string[], warnings?: string[]][] = [
  ["a NUL in another member", `{${fur},"bio":"a\\u0000b"}`, ["Fur=red"]],
  ["half a pair in another member", `{${fur},"bio":"\\ud83d"}`, ["Fur=red"]],
  ["the other half, behind a whole pair", `{${fur},"bio":"\\ud83d\\ude00\\ude00"}`, ["Fur=red"]],
  ["a number beyond all bounds in another member", `{${fur},"n":[-1e200000]}`, ["Fur=red"]],
  ["a NUL in a name", `{${fur},"a\\u0000":1}`, ["Fur=red"]],
  [
    "all of it in the traits themselves",
    '{"attributes":[{"trait_type":"a\\u0000b","value":"\\udc00c"},{"trait_type":"n","value":1e200000}]}',
    ["ab=\ufffdc", "n=1e200000"],
  ],
  ["a text that only looks like a NUL", '{"attributes":{"a":"\\\\u0000","b":"\\\\\\u0000"}}', ["a=\\u0000", "b=\\"]],
  ["a number as a text of 1,000 digits would be", '{"attributes":{"n":1e1000}}', ["n=1e1000"]],
  ["numbers in other spellings", '{"attributes":{"a":1.50,"b":1E3,"c":-2}}', ["a=1.50", "b=1000", "c=-2"]],
  [
    "numbers beyond all bounds, and a text that only looks like one",
    `{"attributes":{"big":1e400,"small":-1e400,"wei":"${"9".repeat(78)}","hex":"12e45"}}`,
    ["big=1e400", "hex=12e45", "small=-1e400", `wei=${"9".repeat(78)}`],
  ],
  ["a list as text", `{"attributes":${text(list)}}`, ["Fur=red"]],
  ["a list as text of text", `{"attributes":${text(text(list))}}`, ["Fur=red"]],
  ["a list as text with a NUL in it", `{"attributes":${text(list.replace("red", "r\\u0000ed"))}}`, ["Fur=red"]],
  ["items as texts", `{"attributes":[${text(list.slice(1, -1))}]}`, ["Fur=red"]],
  ["a list in a list", `{"attributes":[${list},${list.replace("red", "blue")}]}`, ["Fur=blue", "Fur=red"]],
  ["the member in itself", `{"attributes":{${fur}}}`, ["Fur=red"]],
  ["null beside traits", `{"attributes":null,"traits":${list}}`, ["Fur=red"]],
  ["an empty list beside traits", `{"attributes":[],"traits":${list}}`, ["Fur=red"]],
  ["an empty text beside traits", `{"attributes":" ","traits":${list}}`, ["Fur=red"]],
  ["a word beside traits", `{"attributes":"none","traits":${list}}`, ["Fur=red"], ["attributes:not_a_list"]],
  ["a word", '{"attributes":"none"}', [], ["attributes:not_a_list"]],
  ["a number", '{"traits":7}', [], ["traits:not_a_list"]],
  ["a value that is none beside traits", `{"attributes":[null,{"value":null}],"traits":${list}}`, ["Fur=red"]],
  ["what is no trait beside traits", `{"attributes":[7],"traits":${list}}`, ["Fur=red"], ["attributes:unreadable"]],
  ["a member that is there twice", '{"attributes":{"a":1,"b":2,"a":3}}', ["a=3", "b=2"]],
  ["one trait in place of a list", `{"attributes":${list.slice(1, -1)}}`, ["Fur=red"]],
  ["members beside a list", `{"attributes":{"Hat":"none",${fur}}}`, ["Fur=red", "Hat=none"]],
  ["two lists in a member", `{"attributes":{${fur},"traits":${list.replace("red", "blue")}}}`, ["Fur=blue", "Fur=red"]],
  ["a list behind an item", `{"attributes":[{"value":1},${list},null]}`, ["=1", "Fur=red"]],
  [
    "names that are no texts",
    '{"attributes":[{"trait_type":{"a":1},"value":1},{"trait_type":["b"],"value":2},{"trait_type":7,"value":3}]}',
    ["7=3"],
    ["attributes:unreadable"],
  ],
  ["lists five levels deep", `{"attributes":[[[${list}]],[[[[7]]]]]}`, ["Fur=red"], ["attributes:unreadable"]],
  ["50,000 halves of pairs", `{${fur},"bio":"${"\\ude00".repeat(50_000)}"}`, ["Fur=red"]],
  ["a value that is none", '{"attributes":[{"trait_type":"Hat","value":null},null]}', []],
  [
    "items and values that are no traits",
    `{"attributes":[7,"x",{"trait_type":"a"},{"trait_type":"b","value":["c"]},{"value":"d"}]}`,
    ["=d"],
    ["attributes:unreadable"],
  ],
  [
    "more traits than are kept",
    text({ attributes: Object.fromEntries(Array.from({ length: 201 }, (_, at) => [`${1_000 + at}`, at])) }),
    Array.from({ length: 200 }, (_, at) => `${1_000 + at}=${at}`),
    ["attributes:too_many"],
  ],
  [
    "a longer value than is kept",
    text({ attributes: { a: "x".repeat(301) } }),
    [`a=${"x".repeat(300)}`],
    ["attributes:cut"],
  ],
  [
    "a number of more digits than are kept",
    `{"attributes":{"a":${"7".repeat(400)}}}`,
    [`a=${"7".repeat(300)}`],
    ["attributes:cut"],
  ],
  [
    "a text of 50,000 levels",
    text({ attributes: `${"[".repeat(50_000)}${"]".repeat(50_000)}` }),
    [],
    ["attributes:unreadable"],
  ],
];

/** What is odd of the picture. */
const pictures: [
  what: string,
  document: unknown,
  picture: string | null,
  warnings: string[],
  size?: [number, number],
][] = [
  ["image_data alone", { image_data: svg }, drawn(svg), [], [10, 20]],
  ["image_data beside an empty image", { image: "", image_data: svg }, drawn(svg), [], [10, 20]],
  ["image_data that is a link", { image_data: drawn(svg) }, drawn(svg), [], [10, 20]],
  ["svg_image_data", { svg_image_data: svg }, drawn(svg), [], [10, 20]],
  ["a drawing as image", { image: svg }, drawn(svg), [], [10, 20]],
  ["a drawing as image_url", { image_url: `\n${svg}` }, drawn(svg), [], [10, 20]],
  [
    "a drawing with what XML may have before it",
    { image: `<?xml version="1.0"?><!-- # -->${svg}` },
    drawn(`<?xml version="1.0"?><!-- # -->${svg}`),
    ...([[], [10, 20]] as [string[], [number, number]]),
  ],
  [
    "a drawing with escapes",
    { image: encodeURIComponent(svg) },
    `data:image/svg+xml,${encodeURIComponent(svg)}`,
    ...([[], [10, 20]] as [string[], [number, number]]),
  ],
  ["a drawing of 300 KB", { image_data: long }, drawn(long), [], [10, 20]],
  ["a data: picture of 400 KB", { image: drawn(long) }, drawn(long), [], [10, 20]],
  [
    "a drawing that only says what it draws into",
    { image: boxed("0,0,35,45") },
    drawn(boxed("0,0,35,45")),
    [],
    [35, 45],
  ],
  [
    "the same between spaces and commas",
    { image: boxed(" 0, 0  35, 45") },
    drawn(boxed(" 0, 0  35, 45")),
    [],
    [35, 45],
  ],
  ["a drawing that says no size", { image: "<svg><rect/></svg>" }, drawn("<svg><rect/></svg>"), []],
  ["an image that is an object beside image_data", { image: { a: 1 }, image_data: svg }, drawn(svg), [], [10, 20]],
  ["an image that is an object", { image: { src: "x" } }, null, ["image:not_a_text"]],
  ["an image_data that is a list", { image_data: [svg] }, null, ["image_data:not_a_text"]],
  ["an image_data that is no drawing", { image_data: "red" }, "red", ["image:uri_unsupported"]],
  ["a page as image", { image: "<html></html>" }, "<html></html>", ["image:uri_unsupported"]],
  [
    "a name that is a list and a film that is an object",
    { name: ["a"], animation_url: {} },
    null,
    [...["name:not_a_text", "animation_url:not_a_text"]],
  ],
];

const inner = `{"name":"Key","image":"data:image/svg+xml;utf8,<svg xmlns=%22http://www.w3.org/2000/svg%22 width=%2210%22 height=%2220%22/>"}`;
const [, written = ""] = /"image":"(.*)"}/.exec(inner) ?? [];
const oneTrait = `{"name":"Key",${fur}}`;

export const odd: Odd[] = [
  ...traits.map(([what, document, expected, warnings = []]) => ({
    ...{ what: `traits: ${what}`, uri: `data:application/json;base64,${Buffer.from(document).toString("base64")}` },
    ...{ traits: expected, warnings },
  })),
  ...pictures.map(([what, document, picture, warnings, size]) => ({
    ...{
      what: `picture: ${what}`,
      uri: `data:application/json;base64,${Buffer.from(text(document)).toString("base64")}`,
    },
    ...{ picture, warnings, ...(size ? { size } : {}) },
  })),
  {
    what: "a URI with the escapes of a picture",
    uri: `data:application/json;utf8,${inner}`,
    picture: written,
    size: [10, 20],
  },
  { what: "the same without a word", uri: `data:,${inner}`, picture: written, size: [10, 20] },
  { what: "escapes alone", uri: encodeURIComponent(oneTrait), traits: ["Fur=red"] },
  { what: "base64 that is none", uri: `data:application/json;base64,${oneTrait}`, traits: ["Fur=red"] },
  {
    what: "base64 that nobody says",
    uri: `data:application/json,${Buffer.from(oneTrait).toString("base64")}`,
    traits: ["Fur=red"],
  },
  {
    what: "escapes that mean themselves",
    uri: 'data:application/json,{"attributes":{"a":"100%25"}}',
    traits: ["a=100%"],
  },
  {
    what: "a document in Latin-1",
    uri: `data:application/json;base64,${Buffer.from('{"attributes":{"a":"Café"}}', "latin1").toString("base64")}`,
    traits: ["a=Caf\ufffd"],
    warnings: ["metadata:undecodable"],
  },
  { what: "neither", uri: "data:application/json;utf8,{%22", error: "not_json" },
  ...[401, 403, 404, 410, 429, 451, 500, 503].map((status) => ({
    ...{ what: `a server that says ${status}`, uri: `WEB/${status}`, error: `http_${status}` },
  })),
];
