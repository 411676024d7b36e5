import {
  type GraphQLField,
  type GraphQLInputType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isNonNullType,
} from "graphql";
import { bodySchemaOf } from "./bind.ts";
import type { JsonSchema, Operation } from "./schemas.ts";

/** A row of a table of parameters. */
export interface ParameterRow {
  name: string;
  type: string;
  required: boolean;
  meaning: string;
  limits: string;
}

/** Levels of nested objects that are listed; `and` of a filter contains the filter itself. */
const mostLevels = 2;

/** The parameters of a REST operation: in the path, in the query, and members of the body. */
export function restRows(operation: Operation): ParameterRow[] {
  const parameters = (operation.parameters ?? []).map(({ name, required, description, schema }) => ({
    ...{ name, required, meaning: description },
    ...{ type: typeOf(schema), limits: limitsOf(schema) },
  }));
  return [...parameters, ...memberRows(bodySchemaOf(operation), "", 0)];
}

function memberRows(schema: JsonSchema | undefined, prefix: string, level: number): ParameterRow[] {
  const { properties = {}, required = [] } = schema ?? {};
  return Object.entries(properties).flatMap(([name, member]) => {
    const known = plain(member);
    const row = {
      ...{ name: prefix + name, type: typeOf(member), required: required.includes(name) },
      ...{ meaning: member.description ?? known.description ?? "", limits: limitsOf(known) },
    };
    const inner = known.items ? plain(known.items) : known;
    const path = `${prefix}${name}${known.items ? "[]" : ""}.`;
    return [row, ...(level < mostLevels ? memberRows(inner, path, level + 1) : [])];
  });
}

/** A schema without its null alternative. */
function plain(schema: JsonSchema): JsonSchema {
  const [first, second] = schema.anyOf ?? [];
  return first && second?.type === "null"
    ? { ...first, description: schema.description ?? first.description ?? "" }
    : schema;
}

function typeOf(given: JsonSchema): string {
  const schema = plain(given);
  if (schema.format === "binary" || schema.contentMediaType) return "file";
  if (schema.items) return `list of ${typeOf(schema.items)}`;
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(" or ");
  if (schema.type === undefined) return "any";
  return [schema.type].flat().join(" or ");
}

function limitsOf(schema: JsonSchema): string {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, pattern, enum: words } = schema;
  const parts = [
    words && `one of ${words.map(String).join(", ")}`,
    rangeOf(minimum, maximum, ""),
    rangeOf(minLength, maxLength, " characters"),
    rangeOf(minItems, maxItems, " items"),
    pattern && patternNames[pattern],
    schema.items?.enum && `each one of ${schema.items.enum.map(String).join(", ")}`,
    schema.default === undefined ? "" : `default ${JSON.stringify(schema.default)}`,
  ];
  return parts.filter(Boolean).join("; ");
}

/** The document's patterns in words. */
const patternNames: Readonly<Record<string, string>> = {
  "^0x[0-9a-fA-F]{40}$": "0x and 40 hex digits",
  "^0x[0-9a-fA-F]{64}$": "0x and 64 hex digits",
  "^\\d+$": "digits",
};

function rangeOf(least: number | undefined, most: number | undefined, unit: string): string {
  if (least === undefined && most === undefined) return "";
  if (most === undefined) return `at least ${least}${unit}`;
  return least === undefined ? `at most ${most}${unit}` : `${least} to ${most}${unit}`;
}

interface GraphQLInput {
  name: string;
  type: GraphQLInputType;
  description?: string | null | undefined;
  defaultValue?: unknown;
}

/** The arguments of a root field, with the members of its input types. */
export function graphqlRows({ args }: GraphQLField<unknown, unknown>): ParameterRow[] {
  return args.flatMap((argument) => inputRows(argument, "", 0));
}

function inputRows(
  { name, type, description, defaultValue }: GraphQLInput,
  prefix: string,
  level: number,
): ParameterRow[] {
  const named = getNamedType(type);
  const words = isEnumType(named)
    ? `one of ${named
        .getValues()
        .map((value) => value.name)
        .join(", ")}`
    : "";
  const byDefault = defaultValue === undefined ? "" : `default ${JSON.stringify(defaultValue)}`;
  const row = {
    ...{ name: prefix + name, type: String(type).replace(/!$/, ""), required: isNonNullType(type) && !byDefault },
    ...{ meaning: description ?? "", limits: [words, byDefault].filter(Boolean).join("; ") },
  };
  if (!isInputObjectType(named) || level >= mostLevels) return [row];
  const path = `${prefix}${name}${String(type).startsWith("[") ? "[]" : ""}.`;
  return [row, ...Object.values(named.getFields()).flatMap((field) => inputRows(field, path, level + 1))];
}
