import type { SeededGenerator } from "../../setup/seeded-generator.ts";
import { oddText, quoted, type Spelling, textOf } from "./text-grammar.ts";

/*
 * Traits as contracts, scripts and marketplaces write them, each as JSON text: only so can a number, a repeated member or an
 * escape be written as one likes.
 */

export interface Writer {
  random: SeededGenerator;
  spelling: Spelling;
}

const numbers = [
  ...[
    "0",
    "-0",
    "7",
    "12",
    "-3",
    "1.50",
    "0.1",
    "1E3",
    "1e3",
    "2.5e-3",
    "1e-7",
    "9007199254740993",
    "-9007199254740993",
  ],
  ...["1e400", "-1e400", "1e1000", "1e-400", "1e99", "123456789012345678901234567890123456789012345678901234567890"],
  ...["115792089237316195423570985008687907853269984665640564039457584007913129639935", "1669500000", "1669500000000"],
  ...["0.00000000000000000000000000000000000001", `1${"0".repeat(310)}`, "1e5000", "100.000"],
];
const names = [
  "Fur",
  "Hat",
  "Level",
  "Background",
  "Power",
  "色",
  "Цвет",
  "اللون",
  "__proto__",
  "constructor",
  "toString",
  "1",
  "attributes",
];
const displays = ["number", "boost_number", "boost_percentage", "date", "ranking", ""];

const text = ({ random, spelling }: Writer, value: string) => quoted(random, value, spelling);
export const member = (writer: Writer, name: string, value: string) => `${text(writer, name)}:${value}`;

function shuffled(random: SeededGenerator, items: string[]): string[] {
  return items
    .map((item) => [random.next(), item] as const)
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);
}

export function numberOf(random: SeededGenerator): string {
  return random.pick(numbers);
}

function anyValue(writer: Writer): string {
  const { random } = writer;
  const kind = random.below(40);
  if (kind < 20) return text(writer, random.chance(0.3) ? oddText(random) : textOf(random));
  if (kind < 30) return numberOf(random);
  if (kind < 33) return random.pick(["true", "false"]);
  if (kind < 36) return text(writer, numberOf(random));
  if (kind === 36) return "null";
  return random.pick(['["red"]', '{"value":"red"}', "[]", '""', '"2022-11-26T20:38:59"', `"${"9".repeat(320)}"`]);
}

function nameOf(writer: Writer): string {
  const { random } = writer;
  const kind = random.below(30);
  if (kind < 24) return text(writer, random.pick(names));
  if (kind < 26) return text(writer, random.chance(0.2) ? "n".repeat(random.pick([200, 201, 230])) : oddText(random));
  return random.pick(['""', "7", "1E3", "null", "true", '{"a":1}', '["Fur"]']);
}

/** An item of a list. */
function itemOf(writer: Writer): string {
  const { random } = writer;
  const parts: string[] = [];
  if (!random.chance(0.05)) parts.push(member(writer, random.chance(0.1) ? "name" : "trait_type", nameOf(writer)));
  if (random.chance(0.03)) parts.push(member(writer, "name", nameOf(writer)));
  if (!random.chance(0.04)) parts.push(member(writer, "value", anyValue(writer)));
  if (random.chance(0.03)) parts.push(member(writer, "value", anyValue(writer)));
  if (random.chance(0.2)) parts.push(member(writer, "display_type", text(writer, random.pick(displays))));
  if (random.chance(0.15)) parts.push(member(writer, "max_value", random.pick(["100", "null", '"10"', "1e400"])));
  return `{${shuffled(random, parts).join()}}`;
}

function listOf(writer: Writer, count = writer.random.between(1, 5)): string {
  const { random } = writer;
  const items = Array.from({ length: count }, () => {
    const kind = random.below(60);
    if (kind === 0) return random.pick(["7", "null", "true", '"x"', "[]", "{}", "[7]", '"[1"']);
    if (kind === 1) return text(writer, itemOf(writer));
    return itemOf(writer);
  });
  if (random.chance(0.1)) items.push(random.pick(items));
  return `[${items.join(random.pick([",", ", ", ",\n  "]))}]`;
}

function objectOf(writer: Writer, more: string[] = []): string {
  const { random } = writer;
  const parts = Array.from({ length: random.between(1, 4) }, () =>
    member(writer, random.chance(0.8) ? random.pick(names) : textOf(random), anyValue(writer)),
  );
  return `{${shuffled(random, [...parts, ...more]).join()}}`;
}

const few = (writer: Writer) => (writer.random.chance(0.5) ? listOf(writer) : objectOf(writer));

/** What a writer puts where a list belongs. */
const containers: readonly ((writer: Writer) => string)[] = [
  (writer) => text(writer, listOf({ ...writer, spelling: "plain" })),
  (writer) => text(writer, objectOf({ ...writer, spelling: "any" })),
  (writer) => text(writer, text(writer, listOf({ ...writer, spelling: "plain" }))),
  (writer) => text(writer, writer.random.pick(["none", "", " ", "null", "[]", "7", "[{", '"x"', '"[]"'])),
  (writer) => writer.random.pick(["null", "[]", "{}", "7", "true", "[null]", "[[]]", "[{}]", '{"a":null}', "[7]"]),
  (writer) => `{${member(writer, writer.random.pick(["attributes", "traits"]), few(writer))}}`,
  (writer) => objectOf(writer, [member(writer, "attributes", few(writer))]),
  (writer) => `{"attributes":${few(writer)},"traits":${few(writer)}}`,
  (writer) => `{"attributes":{"traits":{"attributes":{"attributes":{"attributes":${few(writer)}}}}}}`,
  (writer) => `[${listOf(writer)},${listOf(writer)}]`,
  (writer) => `[${itemOf(writer)},${listOf(writer)}]`,
  (writer) => `[[[[[${listOf(writer)}]]]]]`,
  (writer) => `[null,${listOf(writer)}]`,
  (writer) => `[${text(writer, itemOf(writer))},${text(writer, listOf(writer))}]`,
  (writer) => itemOf(writer),
  (writer) => listOf(writer, writer.random.pick([199, 200, 201, 230])),
  () => `{${Array.from({ length: 205 }, (_, at) => `"t${at}":${at}`).join()}}`,
];

/** The members of a document that are about traits. */
export function traitMembers(writer: Writer): string[] {
  const { random } = writer;
  const list = () => (random.chance(0.45) ? random.pick(containers)(writer) : few(writer));
  const kind = random.below(20);
  if (kind === 0) return [];
  const members = [member(writer, random.chance(0.85) ? "attributes" : "traits", list())];
  if (kind < 4) members.push(member(writer, random.pick(["attributes", "traits"]), list()));
  if (kind < 6) members.push(member(writer, "properties", few(writer)));
  if (kind === 6) members.push(member(writer, random.pick(["attributes\0", "attr", "Attributes"]), list()));
  return members;
}
