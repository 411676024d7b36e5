import type { SeededGenerator } from "../../setup/seeded-generator.ts";

/*
 * Texts as strangers write them, and the spellings that JSON has for one text.
 */

const scripts: readonly (readonly string[])[] = [
  ["Golden", "Key", "ape", "Punk", "Étoile", "straße", "ŒUVRE", "naïve", "Łódź", "İzmir", "ﬁre", "ǅungla"],
  ["Ёлка", "кот", "ПРИВЕТ", "україна", "Їжак"],
  ["ΟΔΥΣΣΕΥΣ", "Ἀθήνη", "λόγος"],
  ["مُحَمَّد", "مفتاح", "قطة", "۱۲۳"],
  ["שָׁלוֹם", "חתול", "מפתח"],
  ["東京", "猫王", "鑰匙", "大龍", "金土"],
  ["ねこ", "タワー", "ﾀﾜｰ", "がぎぐ"],
  ["고양이", "왕국", "열쇠"],
  ["हिन्दी", "कविता", "क्षत्रिय"],
  ["தமிழ்", "பூனை"],
  ["ภาษาไทย", "แมว"],
  ["Ｆｕｌｌ", "Ｗｉｄｔｈ", "９９"],
  ["🔥", "🚀", "👨‍👩‍👧", "👋🏽", "❤️", "🇫🇷", "🏴‍☠️", "1️⃣"],
  ["𝔊𝔬𝔩𝔡", "𐐀𐐨", "𠮷野"],
];
const marks = [
  ...["#", "%", "100%", "%41", "%zz", "?", "&amp;", "<b>", "\\", '"', "'", "/", "\u2028", "\u00ad", "\u200b"],
  ...["\u202e", "\u200f", "\u061c", "\ufeff", "\ufffd", "\u00a0", "{id}", "%7Bid%7D", "$1", "\\u0000", "\\n"],
];
const controls = ["\0", "\u0001", "\u0003", "\b", "\t", "\n", "\r\n", "\u001b", "\u007f", "\u0085", "\u009f"];
const halves = [
  "\ud83d",
  "\ude00",
  "\ude00\ud83d",
  "\ud83d\0\ude00",
  "\ud83d\ud83d\ude00",
  "\udbff",
  "\ufffe",
  "\uffff",
  "\ufdd0",
];
const forms = ["NFC", "NFD", "NFKC", "NFKD"] as const;

/** A few words, or what is none. */
export function textOf(random: SeededGenerator): string {
  const words = Array.from({ length: random.between(1, 4) }, () => {
    const kind = random.below(14);
    if (kind < 8) return random.pick(random.pick(scripts));
    if (kind < 10) return `${random.pick(["#", "", "v1.", "-"])}${random.below(10_000)}`;
    if (kind < 12) return random.pick(marks);
    return random.pick(kind === 12 ? controls : halves);
  });
  const text = words.join(random.pick([" ", " ", " ", "", " - ", "_", "\u3000"]));
  const formed = random.chance(0.4) ? text.normalize(random.pick(forms)) : text;
  return random.chance(0.15) ? random.pick([formed.toUpperCase(), formed.toLowerCase()]) : formed;
}

/** A text that is now and then empty, blank, long, or surrounded by space. */
export function oddText(random: SeededGenerator): string {
  const text = textOf(random);
  switch (random.below(30)) {
    case 0:
      return random.pick(["", " ", "\n\t ", "\u00a0", "\0"]);
    case 1:
      return text.repeat(Math.ceil(random.pick([200, 301, 500, 4_100, 16_400, 66_000]) / text.length));
    case 2:
      return ` ${text}\n`;
    case 3:
      return random.pick([
        "[]",
        "null",
        "0",
        "{}",
        '{"name":"inner"}',
        "undefined",
        "<svg>",
        "[1,2",
        "'; DROP TABLE t; --",
      ]);
    default:
      return text;
  }
}

/** How a writer of JSON writes texts. */
export type Spelling = "plain" | "ascii" | "any" | "sloppy";

const short: Record<string, string> = { "\n": "\\n", "\t": "\\t", "\b": "\\b", "\r": "\\r", "\f": "\\f" };

/** The text as a JSON string. @param spelling `sloppy`: with control characters as they are, which is no JSON. */
export function quoted(random: SeededGenerator, text: string, spelling: Spelling): string {
  const escaped = (unit: string) => {
    const hex = unit.charCodeAt(0).toString(16).padStart(4, "0");
    return `\\u${random.chance(0.5) ? hex : hex.toUpperCase()}`;
  };
  let written = "";
  for (const character of text) {
    if (character === '"' || character === "\\") written += `\\${character}`;
    else if (character === "/" && spelling === "any") written += random.pick(["/", "\\/"]);
    else if (character < " ") {
      const named = short[character];
      if (spelling === "sloppy") written += character;
      else written += named !== undefined && random.chance(0.7) ? named : escaped(character);
    } else if (!character.isWellFormed()) written += escaped(character);
    else if ((spelling === "ascii" && character > "~") || (spelling === "any" && random.chance(0.2)))
      written += [...Array(character.length).keys()].map((at) => escaped(character[at] as string)).join("");
    else written += character;
  }
  return `"${written}"`;
}
