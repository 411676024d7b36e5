import { getNamedType, isInputObjectType } from "graphql";
import { type Example, type Input, LocalFile } from "./example.ts";
import type { JsonSchema, Operation, Schemas } from "./schemas.ts";

/** The parts of a REST request. */
export interface RestCall {
  operation: Operation;
  path: Input;
  query: Input;
  body: Input | null;
}

/** GraphQL names that REST does not spell with the same words. */
const restNames: Readonly<Record<string, readonly string[]>> = {
  address: ["account_address", "contract_address"],
  allowlist: ["presale_whitelisted_addresses"],
  collection: ["contract_address"],
  contract: ["contract_address"],
  freeze: ["freeze_metadata"],
  mintPriceWei: ["mint_price"],
  owner: ["owner_address"],
  presaleMintPriceWei: ["presale_mint_price"],
  reservedSupply: ["team_reserve"],
  royaltiesAddress: ["royalties_address"],
  royaltiesBps: ["royalties_share"],
  standard: ["type"],
  to: ["mint_to_address", "transfer_to_address"],
  treasury: ["treasury_address"],
  uri: ["metadata_uri"],
};

/**
 * Turns an example's input into a REST request: each member in REST's spelling, in the path, the query or the body.
 *
 * @throws Error for a member that the operation does not have.
 */
export function bindRest(schemas: Schemas, example: Example): RestCall {
  const operation = schemas.operationOf(example);
  const call = { operation, path: {}, query: {}, body: null } as RestCall & Record<"path" | "query", Input>;
  const body = bodySchemaOf(operation);
  const names = new Map((operation.parameters ?? []).map((parameter) => [parameter.name, parameter]));
  const add = (name: string, value: unknown) => {
    const parameter = names.get(name);
    const part = parameter?.in ?? "body";
    call[part] = { ...call[part], [name]: value };
  };
  const known = [...names.keys(), ...Object.keys(body?.properties ?? {})];
  for (const [name, value] of Object.entries(example.input ?? {})) {
    const spelled = restNameOf(name, known);
    if (spelled === undefined) throw new Error(`${example.rest} takes nothing like ${name}`);
    if (example.restInput?.[spelled] === undefined) add(spelled, restValue(value, body?.properties?.[spelled], name));
  }
  for (const [name, value] of Object.entries(example.restInput ?? {})) {
    if (!known.includes(name)) throw new Error(`${example.rest} does not take ${name}`);
    add(name, value);
  }
  return call;
}

export function bodySchemaOf({ requestBody }: Operation): JsonSchema | undefined {
  return Object.values(requestBody?.content ?? {})[0]?.schema;
}

function restNameOf(name: string, known: readonly string[]): string | undefined {
  const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return [...(restNames[name] ?? []), snake, name].find((candidate) => known.includes(candidate));
}

function restValue(value: unknown, schema: JsonSchema | undefined, name: string): unknown {
  if (Array.isArray(value)) return value.map((item) => restValue(item, schema?.items ?? schema, name));
  if (value instanceof LocalFile) return value;
  if (typeof value === "object" && value !== null) {
    const known = Object.keys(listOf(schema)?.properties ?? {});
    return Object.fromEntries(
      Object.entries(value).map(([member, part]) => {
        const spelled = restNameOf(member, known) ?? member;
        return [spelled, restValue(part, listOf(schema)?.properties?.[spelled], member)];
      }),
    );
  }
  if (typeof value !== "string" || schema === undefined) return value;
  if (name.endsWith("Wei")) return Number(value) / 1e18;
  if (schema.type === "integer") return Number(value);
  return schema.enum?.includes(value.toLowerCase()) ? value.toLowerCase() : value;
}

/** The schema of a list's items, or of the value itself. */
const listOf = (schema: JsonSchema | undefined): JsonSchema | undefined => schema?.items ?? schema;

/** A variable of a document, with its type. */
export interface Variable {
  name: string;
  type: string;
  value: unknown;
  /** Whether it is passed to the root field under this name; otherwise it is used in the selection. */
  isArgument: boolean;
}

/**
 * Turns an example's input into arguments of the root field, or members of an argument that is an input type.
 *
 * @throws Error for a member that the field does not have.
 */
export function bindGraphql(schemas: Schemas, example: Example): Variable[] {
  const { args } = schemas.fieldOf(example);
  const values: Record<string, unknown> = {};
  const given = { ...example.input, ...example.graphqlInput };
  for (const [name, value] of Object.entries(given)) {
    const holder = args.find(({ type }) => {
      const named = getNamedType(type);
      const single = !String(type).startsWith("[");
      return single && isInputObjectType(named) && named.getFields()[name] !== undefined;
    });
    if (args.some((arg) => arg.name === name) || example.variables?.[name]) values[name] = value;
    else if (holder) values[holder.name] = { ...(values[holder.name] as Input), [name]: value };
    else throw new Error(`${example.graphql} takes no ${name}`);
  }
  return Object.entries(values).map(([name, value]) => {
    const argument = args.find((arg) => arg.name === name);
    const type = argument ? String(argument.type) : (example.variables?.[name] ?? "");
    return { name, type, value, isArgument: argument !== undefined };
  });
}
