import type { InputFieldBuilder } from "@pothos/core";
import {
  docIn,
  type Field,
  type Fields,
  fieldsIn,
  type InputOf,
  isNeeded,
  type Kind,
  nameIn,
} from "../requests/fields.ts";
import type { Builder, Types } from "./builder.ts";

/*
 * The GraphQL side of the members declared in requests/fields.ts: arguments and input fields, and converting the values
 * that were sent into a use case's input.
 */

const typeNames: Record<Exclude<Kind, "word" | "words" | "items">, string | [string]> = {
  text: "String",
  id: "ID",
  texts: ["String"],
  chain: "ChainName",
  chains: ["ChainName"],
  int: "Int",
  uint: "Uint256",
  quantity: "Uint256",
  tokenId: "TokenId",
  tokenIds: ["TokenId"],
  basisPoints: "Int",
  wei: "Wei",
  address: "Address",
  addresses: ["Address"],
  date: "DateTime",
  flag: "Boolean",
};

/** Types that only GraphQL has, by member: enums, lists of enums, and input types for items. */
type OwnTypes = Record<string, unknown>;

/** The options of Pothos' `t.field` and `t.arg` for each member. */
function optionsOf(fields: Fields, types: OwnTypes) {
  return fieldsIn("graphql", fields).map(([name, field]) => {
    const { kind, default: given } = field;
    const defaultValue = kind === "word" ? given?.toString().toUpperCase() : kind === "uint" ? undefined : given;
    const required = isNeeded("graphql", field);
    const type = kind === "word" || kind === "words" || kind === "items" ? types[name] : typeNames[kind];
    if (type === undefined) throw new Error(`the member ${name} has no type in GraphQL`);
    const description = docIn("graphql", fields, field);
    return [nameIn("graphql", name, field), { type, required, defaultValue, description }] as const;
  });
}

export function inputFields(t: InputFieldBuilder<Types, "InputObject">, fields: Fields, types: OwnTypes = {}) {
  return Object.fromEntries(optionsOf(fields, types).map(([name, options]) => [name, t.field(options as never)]));
}

/** An input type. Its values are read by `readInput`. */
export function inputTypeOf(builder: Builder, name: string, description: string, fields: Fields, types?: OwnTypes) {
  const type = builder.inputRef<object>(name);
  return type.implement({ description, fields: (t) => inputFields(t, fields, types) });
}

/** The members as arguments of a field. */
export function argsOf(t: { arg: (options: never) => unknown }, fields: Fields, types: OwnTypes = {}) {
  const all = optionsOf(fields, types).map(([name, options]) => [name, t.arg(options as never)]);
  return Object.fromEntries(all) as Record<string, ReturnType<ArgBuilder["string"]>>;
}
type ArgBuilder = Parameters<Parameters<Builder["queryField"]>[1]>[0]["arg"];

export function enumValues<W extends string>(words: Readonly<Record<W, string>>) {
  const all = Object.entries<string>(words).map(([name, description]) => [name.toUpperCase(), { description }]);
  return Object.fromEntries(all) as Record<Uppercase<W>, { description: string }>;
}

/** Converts the values that were sent into a use case's input; null counts as absent. */
export function readInput<F extends Fields>(fields: F, given: object): InputOf<F> {
  const sent = given as Record<string, unknown>;
  const read = fieldsIn("graphql", fields).flatMap(([name, field]) => {
    const value = sent[nameIn("graphql", name, field)];
    return value === null || value === undefined ? [] : [[name, inputOf(field, value)] as const];
  });
  return Object.fromEntries(read) as InputOf<F>;
}

function inputOf({ kind, item }: Field, value: unknown): unknown {
  if (kind === "basisPoints") return BigInt(value as number);
  if (kind === "word") return (value as string).toLowerCase();
  if (kind === "tokenIds") return (value as bigint[]).map(String);
  return kind === "items" ? (value as object[]).map((each) => readInput(item ?? {}, each)) : value;
}
