import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  getOperationAST,
  Kind,
  parse,
} from "graphql";
import { LRUCache } from "lru-cache";
import type { Caller } from "../../auth/caller.ts";
import type { OperationCost } from "../../http/app-env.ts";
import type { OperationName } from "../../http/request-notes.ts";
import type { JsonText } from "../../json/json-text.ts";
import type { Services } from "../../services.ts";
import { PersistedQueries } from "../persisted-queries.ts";
import { type CompiledPlan, compilePlan } from "./compile-plan.ts";

/** What a client posts. */
export interface Operation {
  query: string;
  operationName: string | null;
  variables: Record<string, unknown>;
}

interface Known {
  plan: CompiledPlan;
  /** Page sizes whose cost was found bearable when the operation was executed with them, and that cost. */
  sizes: Map<string, KnownCost>;
  contentType: string;
  name: OperationName | null;
}

/** What an execution without an error was like. */
interface Executed extends Pick<Known, "contentType" | "name"> {
  cost: OperationCost;
}

const maxKnown = 500;
const maxQueryLength = 10_000;

/** What an operation cost when it was executed. */
interface KnownCost {
  cost: OperationCost;
  /** The same as JSON. */
  costText: string;
}

/** An operation that can be answered by its plan. */
export interface KnownCall extends KnownCost {
  contentType: string;
  name: OperationName | null;
  /** The text of `data`. */
  run: (services: Services, caller: Caller) => Promise<JsonText>;
}

/**
 * Detects operations that were parsed, validated, priced and executed once without an error, and
 * answers them from then on by their plan, with the same bytes. Whatever the plan cannot do, or fails
 * at, takes the ordinary way.
 */
export class PrecompiledOperations {
  readonly persisted = new PersistedQueries();
  readonly #known = new LRUCache<string, Known>({ max: maxKnown });

  /**
   * Reads a request's body as one plain operation; null for anything else. Of `extensions` only a known document's hash
   * counts: what else clients write there, such as their own name, is nobody's.
   */
  read(body: string): Operation | null {
    let value: unknown;
    try {
      value = JSON.parse(body);
    } catch {
      return null;
    }
    if (!isObject(value) || !Object.keys(value).every((name) => members.has(name))) return null;
    const { query, operationName = null, variables = null, extensions = null } = value;
    if (operationName !== null && typeof operationName !== "string") return null;
    if (variables !== null && !isObject(variables)) return null;
    if (extensions !== null && !isObject(extensions)) return null;
    const text = this.persisted.textOf(query, extensions);
    return text === null ? null : { query: text, operationName, variables: variables ?? {} };
  }

  /** @returns null: execute it. */
  find(accept: string, operation: Operation): KnownCall | null {
    const known = this.#known.get(keyOf(accept, operation));
    if (!known) return null;
    try {
      const call = known.plan.prepare(operation.variables);
      const cost = call ? known.sizes.get(call.size) : undefined;
      const { contentType, name } = known;
      return call && cost !== undefined ? { ...cost, contentType, name, run: call.run } : null;
    } catch {
      // The ordinary way finds the same fault and knows how it is told.
      return null;
    }
  }

  /** Takes note of an operation that was executed without an error. */
  learn(schema: GraphQLSchema, accept: string, operation: Operation, { cost, contentType, name }: Executed): void {
    if (operation.query.length > maxQueryLength) return;
    const key = keyOf(accept, operation);
    const known = this.#known.get(key) ?? planFor(schema, operation, { contentType, name });
    if (!known) return;
    try {
      const call = known.plan.prepare(operation.variables);
      if (call && known.sizes.size < 100) known.sizes.set(call.size, { cost, costText: JSON.stringify(cost) });
    } catch {
      return;
    }
    // What was not used for longest goes first: an attacker's many documents then only cost the ordinary way.
    this.#known.set(key, known);
  }
}

const members = new Set(["query", "operationName", "variables", "extensions"]);

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function planFor(
  schema: GraphQLSchema,
  { query, operationName }: Operation,
  shown: Pick<Known, "contentType" | "name">,
): Known | null {
  const document = parse(query, { noLocation: true });
  const operation = getOperationAST(document, operationName);
  const plan = operation && compilePlan(schema, operation, fragmentsOf(document));
  return plan ? { plan, sizes: new Map(), ...shown } : null;
}

function keyOf(accept: string, { query, operationName }: Operation): string {
  return `${accept}\n${operationName ?? ""}\n${query}`;
}

function fragmentsOf(document: DocumentNode): Record<string, FragmentDefinitionNode> {
  return Object.fromEntries(
    document.definitions.flatMap((definition) =>
      definition.kind === Kind.FRAGMENT_DEFINITION ? [[definition.name.value, definition]] : [],
    ),
  );
}
