import type { SeededGenerator } from "../setup/seeded-generator.ts";

/*
 * Names of all scripts, and a plain scan that says which of them a text finds. It knows what search promises
 * (docs/reading.md) and is made of what JavaScript knows of Unicode; the tokenizer is made of PostgreSQL's functions and of
 * lists of its own.
 */

/** Letters of a script, or parts that stand together. */
const alphabets: string[][] = [
  [..."abcdefghijklmnopqrstuvwxyz"],
  [..."aeiounstrléàüñçøåßıœæłđőžğı"],
  [..."αβγδεζηθικλμνξοπρστυφχψωάέίόύώς"],
  [..."абвгдежзийклмнопрстуфхцчшщъыьэюяёїґ"],
  [..."աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆ"],
  [..."აბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰ"],
  ["ا", "ب", "ت", "ج", "د", "ر", "س", "ع", "ف", "ق", "ل", "م", "ن", "ه", "و", "ي", "أ", "إ", "ؤ", "مُ", "رَّ", "لِ"],
  ["א", "ב", "ג", "ד", "ה", "ו", "ל", "מ", "ם", "נ", "ש", "ת", "שׁ", "בּ", "לָ", "מֵ"],
  ["क", "ख", "ग", "न", "म", "र", "ल", "स", "ह", "की", "नि", "मु", "रे", "को", "क्ष", "त्र", "ज़", "सं"],
  ["க", "ச", "த", "ந", "ம", "ர", "கி", "சு", "தே", "நொ", "மை", "ர்"],
  ["ก", "ข", "ค", "ง", "ท", "น", "ม", "ย", "ร", "เก", "ไท", "กา", "นี", "รู", "ที่", "นำ"],
  [..."一二三東京都大猫犬龍王神社月火水木金土山川々"],
  [..."あいうえおかきくけこがぎぐはひふぱぴのをん"],
  [..."アイウエオカキクケコガギパピタワンーヴ"],
  [..."가나다라마바사고양이왕국한글빛꽃별달밤흙값"],
  [..."0123456789"],
  [..."０１２３ＡＢＣＤａｂｃｄＸＹ"],
  ["🔥", "🚀", "👾", "❤️", "👋🏽", "👨‍👩‍👧", "🇫🇷", "🦄", "⚡", "🏴‍☠️", "✨"],
];

function word(random: SeededGenerator): string {
  const letters = random.pick(alphabets);
  return Array.from({ length: random.between(1, 6) }, () => random.pick(letters)).join("");
}

const latin = (random: SeededGenerator) =>
  Array.from({ length: random.between(2, 7) }, () => random.pick([..."abcdeghiklmnoprstuvxyzéöß"])).join("");
const number = (random: SeededGenerator) => String(random.below(10 ** random.between(1, 5)));
const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1);

const parts: ((random: SeededGenerator) => string)[] = [
  word,
  word,
  word,
  (r) => capital(latin(r)),
  (r) => `${latin(r)}.eth`,
  (r) => `${latin(r)}.${latin(r)}.example`,
  (r) => `${latin(r)}_${number(r)}.${r.pick(["png", "json", "tar.gz"])}`,
  (r) => `${word(r)}-${number(r)}`,
  (r) => `${r.pick(["-", "+", "±"])}${number(r)}${r.pick(["", ".5", "e7", "%"])}`,
  (r) => `${number(r)}e${number(r)}${latin(r)}`,
  (r) => `#${number(r)}`,
  (r) => `v${number(r)}.${number(r)}.${number(r)}`,
  (r) => `${latin(r)}_${latin(r)}`,
  (r) => `${r.pick(["d", "l", "O"])}${r.pick(["'", "\u2019"])}${capital(latin(r))}`,
  (r) => capital(latin(r)) + capital(latin(r)),
  (r) => `https://${latin(r)}.example/${latin(r)}?${latin(r)}=${number(r)}#${latin(r)}`,
  (r) => `${latin(r)}+${latin(r)}@${latin(r)}.example`,
  (r) => `(${word(r)})`,
  (r) => `«${word(r)}»`,
  (r) => `${word(r)}${r.pick(["・", "、", "·", "/", "&", " | ", "\u200b", "\u00ad"])}${word(r)}`,
  (r) => word(r) + word(r),
];

const forms: ((text: string) => string)[] = [
  (text) => text,
  (text) => text,
  (text) => text.normalize("NFD"),
  (text) => text.normalize("NFC"),
  (text) => text.toUpperCase(),
  (text) => text.toLowerCase(),
];

/** So many names, each with something to search for. */
export function namesOf(random: SeededGenerator, count: number): string[] {
  const names: string[] = [];
  while (names.length < count) {
    const texts = Array.from({ length: random.between(1, 3) }, () => random.pick(parts)(random));
    const name = random.pick(forms)(texts.join(random.pick([" ", " ", "  ", " - ", "\u3000"])));
    if (wordsOf(name).length > 0) names.push(name);
  }
  return names;
}

/** Of scripts that set no spaces between words, and emoji. */
const unspaced =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{Extended_Pictographic}\p{Regional_Indicator}]/u;
/** What a reader does not see as a letter: joiners, accents, points of Hebrew and Arabic, skin tones. */
const unseen = /[\p{Script=Inherited}\p{Cf}\p{Emoji_Modifier}]|(?=\p{M})[\p{Script=Hebrew}\p{Script=Arabic}]/gu;
/** Voicing of Kana and vowels of Thai are part of the letter. */
const part = /[\u3099\u309a]|(?=\p{M})\p{Script=Thai}/u;

function folded(text: string): string {
  const seen = text
    .replaceAll("\u200b", " ")
    .normalize("NFKD")
    .replace(unseen, (mark) => (part.test(mark) ? mark : ""));
  return seen.toUpperCase().normalize("NFC");
}

/** Words and runs of a text as they are compared, in their order. */
export function wordsOf(text: string): string[] {
  const letters = folded(text).match(/[\p{L}\p{N}\p{M}\p{Extended_Pictographic}\p{Regional_Indicator}]+/gu) ?? [];
  return letters.flatMap((piece) => {
    const runs: string[] = [];
    for (const letter of piece) {
      const last = runs.at(-1);
      if (last !== undefined && unspaced.test(last) === unspaced.test(letter)) runs[runs.length - 1] = last + letter;
      else runs.push(letter);
    }
    return runs;
  });
}

const isBeginning = (piece: string) => [...piece].length > 2 || /\p{Script=Hangul}/u.test(piece);

/** Whether a name has the first ten words of a text, by looking at each of its own. */
export function isFound(text: string[], name: string[]): boolean {
  return text
    .slice(0, 10)
    .every((piece) =>
      name.some((one) =>
        unspaced.test(piece) ? one.includes(piece) : one === piece || (isBeginning(piece) && one.startsWith(piece)),
      ),
    );
}

/** Texts that have to find the name: itself in all cases and forms, and a part of each of its words that is promised to. */
export function queriesOf(random: SeededGenerator, name: string): string[] {
  const piecesOf = wordsOf(name).map((piece) => {
    const letters = [...piece];
    if (unspaced.test(piece)) {
      const from = random.below(letters.length);
      return letters.slice(from, random.between(from + 1, letters.length)).join("");
    }
    const least = isBeginning(piece) ? (/\p{Script=Hangul}/u.test(piece) ? 1 : 3) : letters.length;
    return letters.slice(0, random.between(least, letters.length)).join("");
  });
  const whole = [name, name.normalize("NFC"), name.normalize("NFD"), name.toUpperCase(), name.toLowerCase()];
  const typed = piecesOf.map((piece) => (random.chance(0.5) ? piece : piece.toLowerCase()));
  return [...whole, typed.join(" "), ...typed];
}
