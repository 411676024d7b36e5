import type { IncomingMessage } from "node:http";
import * as z from "zod";
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
import { Input } from "./input.ts";
import { parseJsonObject, readBody as readText } from "./json-body.ts";
import { address, type Json, type Members, query } from "./openapi-parts.ts";
import { wordParameter } from "./query.ts";

/* The `/v0` side of the members declared in requests/fields.ts: reading them from a body, and their OpenAPI schemas. */

const bodyBytes = 16_384;
/** Kinds whose empty text is refused: taken for absent, an empty `expires_at` would make a key that never expires. */
const neverEmpty: ReadonlySet<Kind> = new Set(["date", "int", "uint", "flag"]);

/**
 * Reads the body of an operation that the original service did not have; without members it may be omitted.
 *
 * @throws ServiceError of the gravest fault, with all in `details.problems`. An unknown member is a fault: a misspelt
 * filter would let everything through, and a key with a misspelt expiry would never expire.
 */
export async function readOwnBody<F extends Fields>(
  request: IncomingMessage,
  fields: F,
  mostBytes = bodyBytes,
): Promise<InputOf<F>> {
  const text = await readText(request, mostBytes);
  const body = text.trim() === "" ? {} : parseJsonObject(text);
  const input = Input.fromBody(body);
  const read = readBody(input, fields);
  const members = fieldsIn("v0", fields).map(([name, field]) => [nameIn("v0", name, field), field.kind] as const);
  for (const [name, kind] of members)
    if (body[name] === "" && neverEmpty.has(kind))
      input.fail(kind === "date" ? "invalid_date" : "invalid_type", name, `${name} is empty: leave it out, or give it`);
  const known = members.map(([name]) => name);
  for (const name of input.unknown())
    input.fail("value_error", name, `"${name.slice(0, 40)}" is no member here; there are ${known.join(", ")}`);
  input.check();
  return read;
}

/** Reads a body's members under all their names. A faulty one reads as absent until `input.check()` throws. */
export function readBody<F extends Fields>(input: Input, fields: F): InputOf<F> {
  const read = fieldsIn("v0", fields).map(([name, field]) => [name, readField(input, name, field)] as const);
  return Object.fromEntries(read) as InputOf<F>;
}

function readField(input: Input, name: string, field: Field): unknown {
  const names = namesOf(name, field);
  const [first] = names;
  const required = isNeeded("v0", field);
  const need = { required, emptyIsText: field.emptyIsText ?? false };
  switch (field.kind) {
    case "text":
    case "id":
    case "chain":
      return input.text(names, need);
    case "texts":
    case "chains":
    case "tokenIds":
      return input.texts(first);
    case "int": {
      const number = input.integer(names, need);
      return number === undefined ? undefined : Number(number);
    }
    case "uint":
    case "tokenId":
    case "quantity":
    case "basisPoints":
      return input.integer(names, need);
    case "wei":
      return input.wei(first, need);
    case "address":
      return input.address(names, need);
    case "addresses":
      return input.addresses(first);
    case "date":
      return input.date(names, need);
    case "flag":
      return input.boolean(first);
    case "word":
      return wordParameter(input, first, Object.keys(field.words ?? {}), required);
    case "words":
      return input.texts(first, Object.keys(field.words ?? {}));
    case "items":
      if (!required && !input.has(first)) return undefined;
      if (!required && input.isEmptyList(first)) return [];
      return input.items(first, field.most ?? 0, (item) => readBody(item, field.item ?? {}));
    default:
      return field.kind satisfies never;
  }
}

function namesOf(name: string, field: Field): readonly [string, ...string[]] {
  return field.v0 ?? [nameIn("v0", name, field)];
}

const digits = z.string().regex(/^\d+$/);
const texts = z.array(z.string());
const schemas = {
  text: z.string(),
  id: z.string(),
  texts,
  chain: z.string(),
  chains: texts,
  tokenIds: texts,
  tokenId: z.union([digits, z.int().min(0)]),
  quantity: z.union([digits, z.int().min(1)]),
  basisPoints: z.int().min(0).max(10_000),
  wei: z.number().min(0),
  address,
  addresses: z.array(address),
  date: z.string(),
  flag: z.boolean(),
} satisfies Record<Exclude<Kind, "word" | "words" | "items" | "int" | "uint">, z.ZodType>;

/** The members of a body's object in OpenAPI, including their older names. */
export function bodyMembers(fields: Fields): Members {
  const all = fieldsIn("v0", fields).flatMap(([name, field]) => {
    const [first, ...older] = namesOf(name, field);
    const needed = isNeeded("v0", field);
    // Either name is accepted, which `required` of a schema cannot express.
    const either = needed && older.length > 0 ? " Required, under this name or its older spelling." : "";
    const format = field.kind === "date" ? " In ISO 8601, UTC if it has no offset." : "";
    const described = schemaOf(field).describe(`${docIn("v0", fields, field)}${format}${either}`);
    const absent = needed && !either ? described : described.optional();
    const member = field.default === undefined ? absent : described.default(field.default);
    const again = older.map(
      (other) => [other, schemaOf(field).describe(`Older spelling of \`${first}\`.`).optional()] as const,
    );
    return [[first, member] as const, ...again];
  });
  return Object.fromEntries(all);
}

export function queryParameters(fields: Fields): Json[] {
  return fieldsIn("v0", fields).map(([name, field]) =>
    query(
      nameIn("v0", name, field),
      field.default === undefined ? schemaOf(field) : schemaOf(field).default(field.default),
      docIn("v0", fields, field),
      isNeeded("v0", field),
    ),
  );
}

function schemaOf(field: Field): z.ZodType {
  const { kind, words, item, most = 0, min = 0, max = 0 } = field;
  switch (kind) {
    case "uint":
      return z.int().min(min);
    case "int":
      return z.int().min(min).max(max);
    case "word":
      return z.enum(Object.keys(words ?? {}));
    case "words":
      return z.array(z.enum(Object.keys(words ?? {})));
    case "texts":
    case "chains":
    case "tokenIds":
    case "addresses":
      return most > 0 ? schemas[kind].max(most) : schemas[kind];
    case "text":
      return words ? z.enum(Object.keys(words)) : schemas.text;
    case "items": {
      const list = z.array(z.object(bodyMembers(item ?? {})));
      return isNeeded("v0", field) ? list.min(1).max(most) : list;
    }
    default:
      return schemas[kind];
  }
}
