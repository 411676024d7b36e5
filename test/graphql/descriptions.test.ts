import {
  type GraphQLNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
} from "graphql";
import { expect, test } from "vitest";
import { createSchema } from "../../src/graphql/schema.ts";

type Described = { description?: string | null | undefined };

/** What a client can see of a type: itself, its fields with their arguments, or its values. */
function partsOf(type: GraphQLNamedType): [name: string, part: Described][] {
  if (isEnumType(type)) return type.getValues().map((value) => [`${type.name}.${value.name}`, value]);
  if (isInputObjectType(type))
    return Object.values(type.getFields()).map((field) => [`${type.name}.${field.name}`, field]);
  if (!isObjectType(type) && !isInterfaceType(type)) return [];
  return Object.values(type.getFields()).flatMap((field) => [
    [`${type.name}.${field.name}`, field] as [string, Described],
    ...field.args.map((arg): [string, Described] => [`${type.name}.${field.name}(${arg.name}:)`, arg]),
  ]);
}

test("everything in the GraphQL schema has a description of 15 characters or more", () => {
  const schema = createSchema();
  const ofTypes = Object.values(schema.getTypeMap()).flatMap((type): [string, Described][] => [
    [type.name, type],
    // The specification's own types are graphql-js's, which describes the types and not all of their fields.
    ...(isIntrospectionType(type) ? [] : partsOf(type)),
  ]);
  const ofDirectives = schema
    .getDirectives()
    .flatMap((directive): [string, Described][] => [
      [`@${directive.name}`, directive],
      ...directive.args.map((arg): [string, Described] => [`@${directive.name}(${arg.name}:)`, arg]),
    ]);
  const all = [...ofTypes, ...ofDirectives];
  expect(all.length).toBeGreaterThan(900);
  const bare = all.filter(([, { description }]) => (description ?? "").trim().length < 15).map(([name]) => name);
  expect(bare).toEqual([]);
});
