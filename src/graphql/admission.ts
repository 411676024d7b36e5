import { complexityFromQuery } from "@pothos/plugin-complexity";
import {
  type DocumentNode,
  type ExecutionArgs,
  type FieldNode,
  type FragmentDefinitionNode,
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  valueFromASTUntyped,
} from "graphql";
import type { Plugin } from "graphql-yoga";
import type { Context } from "hono";
import { admitAddress, admitQuestions, asksLocalChainsOnly } from "../accounts/admit-address.ts";
import { countedFields, openFields, openSubscriptions, operationOfField } from "../accounts/operations.ts";
import { admitOnce } from "../admission/admit-once.ts";
import { setRateHeaders } from "../admission/rate-headers.ts";
import { recordCounted } from "../admission/throttle-failures.ts";
import type { Session } from "../auth/caller.ts";
import { ServiceError } from "../errors/errors.ts";
import type { AppEnv } from "../http/app-env.ts";
import { clientAddress } from "../http/client-address.ts";
import { noteRequest, type OperationName } from "../http/request-notes.ts";
import { checkConditions, countConditions, type TraitFilter } from "../nfts/traits.ts";
import type { Services } from "../services.ts";
import { maxComplexity } from "./builder.ts";

interface ServerContext {
  hono: Context<AppEnv>;
  caller: () => Promise<Session>;
}

/** Complexity that counts as one REST request towards the rate limit. */
const complexityPerRequest = 250;
/** Keyless questions that count as one request when the caller sends a key. */
const questionsPerRequest = 5;

/**
 * Accepts or refuses an operation before any of its fields runs, by the key's scopes, the account's quota and rate, and
 * the right to read the schema. The cost is computed from the document with the variables that were actually sent.
 */
export function admission(services: Services): Plugin<Record<string, never>, ServerContext> {
  return {
    onExecute: async ({ args }) => await check(args as ExecutionArgs),
    onSubscribe: async ({ args }) => await check(args as ExecutionArgs),
  };

  async function check(args: ExecutionArgs): Promise<void> {
    const { document, operationName, contextValue, schema } = args;
    const variables = args.variableValues ?? {};
    const { hono, caller } = contextValue as ServerContext;
    const operation = getOperationAST(document, operationName);
    if (!operation) return;
    const nodes = fieldsOf(document, operation.selectionSet, false);
    const fields = namesOf(nodes);
    noteRequest(hono.env.incoming, { operation: shownName(operation, fields.keys()) });
    const tokens = countListed(nodes, variables);
    checkConditions(conditionsOf(document, operation, variables));
    const reflects = fields.has("__schema") || fields.has("__type");
    const open = operation.operation === "subscription" ? openSubscriptions : openFields;
    const counted = operation.operation === "subscription" ? openSubscriptions : countedFields;
    const needsKey = [...fields.keys()].filter((field) => !open.has(field));
    const closed = reflects && services.config.introspection === "key";
    const asked = nodes.filter(({ name }) => counted.has(name.value));
    const questions = countNames(asked);
    const ofDay = countNames(asked.filter((node) => !isOfLocalChain(services, node, variables)));
    hono.set("needsKey", needsKey.length > 0 || closed);
    if (needsKey.length === 0 && !closed && questions === 0) return;
    const session = needsKey.length === 0 && !closed ? await callerIfAny(hono, caller) : await caller();
    if (!session) {
      const address = clientAddress(hono.env.incoming, services.config.trustedProxies);
      await admitAddress(services, address, { cost: questions, ofDay }, (state) => setRateHeaders(hono, state));
      return recordCounted(hono.env.incoming);
    }
    await admitQuestions(services, session, ofDay);
    const parts = needsKey.flatMap((field) => (field === "viewer" ? viewerFields(document, nodes) : [field]));
    const wanted = (parts.length > 0 ? parts : ["__schema"]).map((field) => ({
      ...operationOfField(operation.operation, field),
      times: field === "mintBatch" ? tokens : (fields.get(field)?.size ?? 1),
    }));
    const { complexity } = complexityFromQuery(document, {
      schema,
      ctx: contextValue as object,
      ...(operationName ? { operationName } : {}),
      variables,
    });
    const cost = Math.max(1, Math.ceil(complexity / complexityPerRequest), Math.ceil(questions / questionsPerRequest));
    hono.set("graphqlCost", { complexity, maxComplexity, requests: cost });
    // An operation takes its cost once from each bucket of its fields; in a mutation each field counts, as it spends.
    const distinct = new Map(wanted.map((item) => [`${item.scope} ${item.bucket}`, item]));
    for (const item of distinct.values()) {
      const each = wanted.reduce((sum, { bucket, times }) => sum + (bucket === item.bucket ? times : 0), 0);
      const places = operation.operation === "mutation" ? Math.max(cost, each) : cost;
      await admitOnce(hono.env.incoming, services, session, item, places, (state) => setRateHeaders(hono, state));
    }
  }
}

const mostShownFields = 10;
/** An operation name that looks like one of our keys was put there by mistake. It is not logged. */
const keyLike = /mty_(live|test|session)_/i;

/** How an operation appears in its account's request log. @param fields root fields, by their schema names. */
function shownName({ operation, name }: OperationDefinitionNode, fields: Iterable<string>): OperationName {
  const own = name && !keyLike.test(name.value) ? ` ${name.value.slice(0, 100)}` : "";
  const all = [...fields];
  const more = all.length > mostShownFields ? ", …" : "";
  return { operation: operation + own, fields: all.slice(0, mostShownFields).join(", ") + more };
}

/** The caller of a keyless operation; null: anonymous, or the key is invalid or lacks the scope READ. */
async function callerIfAny(hono: Context<AppEnv>, caller: () => Promise<Session>): Promise<Session | null> {
  if (hono.env.incoming.headers.authorization === undefined) return null;
  try {
    const session = await caller();
    return session.scopes.includes("read") ? session : null;
  } catch (error) {
    if (error instanceof ServiceError && [401, 403].includes(error.status)) return null;
    throw error;
  }
}

/** Whether a question goes to a local chain, whose calls cost nothing. Without a `chain` it may go to any chain. */
function isOfLocalChain(
  services: Services,
  { arguments: given }: FieldNode,
  variables: Record<string, unknown>,
): boolean {
  const argument = given?.find(({ name }) => name.value === "chain");
  if (!argument) return asksLocalChainsOnly(services);
  const wanted: unknown = valueFromASTUntyped(argument.value, variables);
  return services.chains.some(({ name, local }) => local && name === wanted);
}

/** Maps each field name to its response names (aliases). */
function namesOf(nodes: readonly FieldNode[]): Map<string, Set<string>> {
  const names = new Map<string, Set<string>>();
  for (const { name, alias } of nodes)
    names.set(name.value, (names.get(name.value) ?? new Set()).add((alias ?? name).value));
  return names;
}

function countNames(nodes: readonly FieldNode[]): number {
  return [...namesOf(nodes).values()].reduce((sum, keys) => sum + keys.size, 0);
}

/** The number of tokens in all `mintBatch` fields of an operation: each may become a transaction. */
function countListed(nodes: readonly FieldNode[], variables: Record<string, unknown>): number {
  const listed = new Map<string, number>();
  for (const { name, alias, arguments: given } of nodes) {
    if (name.value !== "mintBatch") continue;
    const argument = given?.find((item) => item.name.value === "tokens");
    const tokens = argument ? (valueFromASTUntyped(argument.value, variables) as unknown) : null;
    listed.set((alias ?? name).value, Array.isArray(tokens) ? Math.max(1, tokens.length) : 1);
  }
  return [...listed.values()].reduce((sum, count) => sum + count, 0);
}

/** The number of trait conditions in an operation, with its variables. A fragment counts once. */
function conditionsOf(
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Record<string, unknown>,
): number {
  const filters = fieldsOf(document, operation.selectionSet, true)
    .filter(({ name }) => name.value === "nfts")
    .flatMap((node) => node.arguments?.find(({ name }) => name.value === "traits") ?? []);
  return filters.reduce(
    (sum, { value }) => sum + countConditions(valueFromASTUntyped(value, variables) as TraitFilter | null | undefined),
    0,
  );
}

/** The fields of `viewer` in an operation, as operation names: `viewer.keys`. */
function viewerFields(document: DocumentNode, roots: readonly FieldNode[]): string[] {
  const asked = roots
    .filter(({ name }) => name.value === "viewer")
    .flatMap(({ selectionSet }) => (selectionSet ? fieldsOf(document, selectionSet, false) : []))
    .map(({ name }) => `viewer.${name.value}`);
  return [...new Set(asked)];
}

/** The fields of a selection, whatever its directives; fragments are expanded once. @param deep nested fields too. */
function fieldsOf(document: DocumentNode, selectionSet: SelectionSetNode, deep: boolean): FieldNode[] {
  const fragments = new Map(
    document.definitions
      .filter((definition): definition is FragmentDefinitionNode => definition.kind === Kind.FRAGMENT_DEFINITION)
      .map((fragment) => [fragment.name.value, fragment]),
  );
  const fields: FieldNode[] = [];
  const seen = new Set<string>();
  const visit = (set: SelectionSetNode): void => {
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) {
        fields.push(selection);
        if (deep && selection.selectionSet) visit(selection.selectionSet);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) visit(selection.selectionSet);
      else if (!seen.has(selection.name.value)) {
        seen.add(selection.name.value);
        const fragment = fragments.get(selection.name.value);
        if (fragment) visit(fragment.selectionSet);
      }
    }
  };
  visit(selectionSet);
  return fields;
}
