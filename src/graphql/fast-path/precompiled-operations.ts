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

/** The body that a client posts. */
export interface Operation {
  query: string;
  operationName: string | null;
  variables: Record<string, unknown>;
}

interface Known {
  plan: CompiledPlan;
  /** The page sizes that the operation was executed with and accepted, and the cost of each. */
  sizes: Map<string, KnownCost>;
  contentType: string;
  name: OperationName | null;
}

/** What is remembered of an execution without errors. */
interface Executed extends Pick<Known, "contentType" | "name"> {
  cost: OperationCost;
}

const maxKnown = 500;
const maxQueryLength = 10_000;

/** What an operation cost when it was executed. */
interface KnownCost {
  cost: OperationCost;
  /** `cost` as JSON. */
  costText: string;
}

/** An operation that its plan can answer. */
export interface KnownCall extends KnownCost {
  contentType: string;
  name: OperationName | null;
  /** Gives the text of `data`. */
  run: (services: Services, caller: Caller) => Promise<JsonText>;
}

/**
 * Recognizes operations that were parsed, validated, priced and executed once without errors. From then on their plan
 * answers them with the same bytes. Whatever the plan cannot do or fails at goes to graphql-js.
 */
export class PrecompiledOperations {
  readonly persisted = new PersistedQueries();
  readonly #known = new LRUCache<string, Known>({ max: maxKnown });

  /**
   * Reads a request's body as one plain operation; null for anything else. Of `extensions` only the hash of a known
   * document matters; other members, such as the client's own name, are ignored.
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

  /** @returns null: execute the operation. */
  find(accept: string, operation: Operation): KnownCall | null {
    const known = this.#known.get(keyOf(accept, operation));
    if (!known) return null;
    try {
      const call = known.plan.prepare(operation.variables);
      const cost = call ? known.sizes.get(call.size) : undefined;
      const { contentType, name } = known;
      return call && cost !== undefined ? { ...cost, contentType, name, run: call.run } : null;
    } catch {
      // The ordinary path finds the same fault and reports it properly.
      return null;
    }
  }

  /** Remembers an operation that was executed without errors. */
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
    // Evicts the least recently used entry: an attacker's many documents then only take the ordinary path.
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
