import { complexityFromQuery } from "@pothos/plugin-complexity";
import {
  type DocumentNode,
  type ExecutionArgs,
  type FragmentDefinitionNode,
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
} from "graphql";
import type { Plugin } from "graphql-yoga";
import type { Context } from "hono";
import { openFields, operationOfField } from "../accounts/operations.ts";
import type { Session } from "../auth/caller.ts";
import { admitOnce } from "../http/admit-once.ts";
import type { AppEnv } from "../http/app-env.ts";
import { setRateHeaders } from "../http/rate-headers.ts";
import type { Services } from "../services.ts";
import { maxComplexity } from "./builder.ts";

interface ServerContext {
  hono: Context<AppEnv>;
  caller: () => Promise<Session>;
}

/** Complexity that costs as much of the rate as one REST request. */
const complexityPerRequest = 250;

/**
 * Lets an operation run, or not, before any of its fields does: scopes of the key, quota and rate of the account, and the
 * right to read the schema. Its cost comes from the document with the variables that were really sent.
 */
export function admission(services: Services): Plugin<Record<string, never>, ServerContext> {
  return {
    onExecute: async ({ args }) => await check(args as ExecutionArgs),
    onSubscribe: async ({ args }) => await check(args as ExecutionArgs),
  };

  async function check(args: ExecutionArgs): Promise<void> {
    const { document, operationName, contextValue, schema, variableValues } = args;
    const { hono, caller } = contextValue as ServerContext;
    const operation = getOperationAST(document, operationName);
    if (!operation) return;
    const fields = rootFields(document, operation);
    const reflects = fields.has("__schema") || fields.has("__type");
    const needsKey = [...fields].filter((field) => !openFields.has(field));
    const closed = reflects && services.config.introspection === "key";
    if (needsKey.length === 0 && !closed) return;
    const session = await caller();
    const wanted = (needsKey.length > 0 ? needsKey : ["__schema"]).map((field) =>
      operationOfField(operation.operation, field),
    );
    const { complexity } = complexityFromQuery(document, {
      schema,
      ctx: contextValue as object,
      ...(operationName ? { operationName } : {}),
      variables: variableValues ?? {},
    });
    const cost = Math.max(1, Math.ceil(complexity / complexityPerRequest));
    hono.set("graphqlCost", { complexity, maxComplexity, requests: cost });
    // One operation, one place in each bucket that its fields belong to.
    const distinct = new Map(wanted.map((item) => [`${item.scope} ${item.bucket}`, item]));
    for (const item of distinct.values())
      await admitOnce(hono.env.incoming, services, session, item, cost, (state) => setRateHeaders(hono, state));
  }
}

/** Names of the fields that an operation asks of its root, whatever directives may leave out. */
function rootFields(document: DocumentNode, operation: OperationDefinitionNode): Set<string> {
  const fragments = new Map(
    document.definitions
      .filter((definition): definition is FragmentDefinitionNode => definition.kind === Kind.FRAGMENT_DEFINITION)
      .map((fragment) => [fragment.name.value, fragment]),
  );
  const names = new Set<string>();
  const seen = new Set<string>();
  const visit = (set: OperationDefinitionNode["selectionSet"]): void => {
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) names.add(selection.name.value);
      else if (selection.kind === Kind.INLINE_FRAGMENT) visit(selection.selectionSet);
      else if (!seen.has(selection.name.value)) {
        seen.add(selection.name.value);
        const fragment = fragments.get(selection.name.value);
        if (fragment) visit(fragment.selectionSet);
      }
    }
  };
  visit(operation.selectionSet);
  return names;
}
