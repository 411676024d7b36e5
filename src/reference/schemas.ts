import { readFileSync } from "node:fs";
import { buildSchema, type GraphQLField, type GraphQLSchema } from "graphql";
import type { Example } from "./example.ts";

/** The part of JSON Schema that the reference reads. */
export interface JsonSchema {
  type?: string | string[];
  description?: string;
  enum?: readonly unknown[];
  const?: unknown;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  format?: string;
  contentMediaType?: string;
  items?: JsonSchema;
  anyOf?: readonly JsonSchema[];
  properties?: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
}

export interface Parameter {
  name: string;
  in: "path" | "query";
  required: boolean;
  description: string;
  schema: JsonSchema;
}

type Content = Readonly<Record<string, { schema: JsonSchema; example?: unknown }>>;

export interface Operation {
  method: string;
  path: string;
  summary: string;
  description: string;
  parameters?: readonly Parameter[];
  requestBody?: { content: Content };
  responses: Readonly<Record<string, { description: string; content?: Content }>>;
}

const readSchema = (name: string) => readFileSync(new URL(`../../schema/${name}`, import.meta.url), "utf8");

/** Both APIs, from their committed documents. */
export class Schemas {
  readonly openApi = JSON.parse(readSchema("openapi.json")) as {
    paths: Record<string, Record<string, Omit<Operation, "method" | "path">>>;
  };
  readonly graphql: GraphQLSchema = buildSchema(readSchema("schema.graphql"));

  /** @throws Error for an example of an operation that the document does not have. */
  operationOf({ rest = "" }: Example): Operation {
    const [method = "", path = ""] = rest.split(" ");
    const operation = this.openApi.paths[path]?.[method];
    if (!operation) throw new Error(`the OpenAPI document has no ${rest}`);
    return { method, path, ...operation };
  }

  /** @throws Error for an example of a field that the schema does not have. */
  fieldOf({ graphql = "" }: Example): GraphQLField<unknown, unknown> {
    const [kind = "", name = ""] = graphql.split(" ");
    const types = {
      query: this.graphql.getQueryType(),
      mutation: this.graphql.getMutationType(),
      subscription: this.graphql.getSubscriptionType(),
    };
    const field = types[kind as keyof typeof types]?.getFields()[name];
    if (!field) throw new Error(`the GraphQL schema has no ${graphql}`);
    return field;
  }
}
