import {
  type DocumentNode,
  type ExecutionArgs,
  type FragmentDefinitionNode,
  GraphQLError,
  getOperationAST,
  Kind,
  parse,
  type SelectionSetNode,
  type ValidationRule,
  validate,
  visit,
} from "graphql";
import type { Plugin } from "graphql-yoga";
import { withinTime } from "../accounts/request-scope.ts";
import type { ReadLimits } from "../config/read-limits.ts";

/** Tokens in a document; this also bounds the parser's recursion. GraphiQL's introspection query has about 400. */
const maxTokens = 2_000;
/** Aliases in a document: they bound how often one field can be requested. */
const maxAliases = 30;
/** Faults reported per document: for each unknown name the schema is searched for similar names. */
const maxErrors = 5;
/** Documents whose size was checked and accepted. */
const bearable = new WeakSet<DocumentNode>();

/** Bounds on a document that are checked before any field runs, with or without a key. */
export const documentLimits: Plugin = {
  onParse({ setParseFn }) {
    setParseFn((source: Parameters<typeof parse>[0], options?: Parameters<typeof parse>[1]) =>
      parse(source, { ...options, maxTokens }),
    );
  },
  onValidate({ params, addValidationRule, setValidationFn, setResult }) {
    const document = params.documentAST as DocumentNode;
    if (!bearable.has(document)) {
      const fault = sizeFault(document);
      if (fault) return setResult([fault]);
      bearable.add(document);
    }
    addValidationRule(limitAliases);
    setValidationFn((schema: Parameters<typeof validate>[0], ast: DocumentNode, rules: readonly ValidationRule[]) =>
      validate(schema, ast, rules, { maxErrors }),
    );
  },
};

const limitAliases: ValidationRule = (context) => {
  let aliases = 0;
  return {
    [Kind.FIELD](node) {
      if (!node.alias) return;
      aliases += 1;
      if (aliases === maxAliases + 1) {
        context.reportError(new GraphQLError(`a document may have ${maxAliases} aliases`, { nodes: [node] }));
      }
    },
  };
};

/** Fields after expanding each fragment wherever it is spread: what an executor visits. */
const maxFields = 1_000;
const maxFragments = 50;
const maxOperations = 30;
/** Pairs of fields with the same response name, which validation compares: quadratic in their number. */
const maxPairs = 1_000;

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** Estimates what validating a document would cost, in time proportional to the bounds. @returns null: acceptable. */
function sizeFault(document: DocumentNode): GraphQLError | null {
  const fragments = new Map<string, FragmentDefinitionNode>();
  const operations: SelectionSetNode[] = [];
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
    else if (definition.kind === Kind.OPERATION_DEFINITION) operations.push(definition.selectionSet);
  }
  if (fragments.size > maxFragments) return fault(`${maxFragments} fragments`);
  if (operations.length > maxOperations) return fault(`${maxOperations} operations`);
  const counter = new Counter(fragments);
  for (const operation of operations) counter.count([operation]);
  // Fragments that no operation spreads are validated too.
  for (const [name, { selectionSet }] of fragments) if (!counter.spread.has(name)) counter.count([selectionSet]);
  if (counter.fields > maxFields)
    return fault(`${maxFields} fields, with those of its fragments wherever they are spread`);
  if (counter.pairs > maxPairs) return fault(`${maxPairs} pairs of fields under one name`);
  return null;
}

class Counter {
  fields = 0;
  pairs = 0;
  /** Names of the fragments visited so far. */
  readonly spread = new Set<string>();
  readonly #fragments: Fragments;
  readonly #open = new Set<string>();

  constructor(fragments: Fragments) {
    this.#fragments = fragments;
  }

  /** Counts selection sets merged into one, as an executor merges fields of the same response name. */
  count(sets: readonly SelectionSetNode[]): void {
    const groups = new Map<string, SelectionSetNode[]>();
    const sizes = new Map<string, number>();
    for (const set of sets) this.#collect(set, groups, sizes);
    for (const size of sizes.values()) this.pairs += (size * (size - 1)) / 2;
    for (const inner of groups.values()) {
      if (this.fields > maxFields || this.pairs > maxPairs) return;
      this.count(inner);
    }
  }

  #collect(set: SelectionSetNode, groups: Map<string, SelectionSetNode[]>, sizes: Map<string, number>): void {
    for (const selection of set.selections) {
      if (this.fields > maxFields) return;
      if (selection.kind === Kind.FIELD) {
        this.fields += 1;
        const name = (selection.alias ?? selection.name).value;
        sizes.set(name, (sizes.get(name) ?? 0) + 1);
        if (!selection.selectionSet) continue;
        const group = groups.get(name) ?? [];
        group.push(selection.selectionSet);
        groups.set(name, group);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) this.#collect(selection.selectionSet, groups, sizes);
      else this.#spread(selection.name.value, groups, sizes);
    }
  }

  #spread(name: string, groups: Map<string, SelectionSetNode[]>, sizes: Map<string, number>): void {
    const fragment = this.#fragments.get(name);
    // Validation reports an unknown fragment or one that spreads itself.
    if (!fragment || this.#open.has(name)) return;
    this.fields += 1;
    this.spread.add(name);
    this.#open.add(name);
    this.#collect(fragment.selectionSet, groups, sizes);
    this.#open.delete(name);
  }
}

function fault(bound: string): GraphQLError {
  return new GraphQLError(`a document may have ${bound}; split it, or ask for less`, {
    extensions: { code: "GRAPHQL_VALIDATION_FAILED" },
  });
}

/** Fields that count or aggregate, and get a longer time limit. */
const reports = new Set(["holders", "metadataProgress", "owners", "search", "statistics", "traits"]);

/**
 * Ends a query that exceeds its time limit: it fails with `read_timeout` and its statements are cancelled. Mutations
 * are never ended, because the client must learn what they started.
 */
export function timeLimit(limits: ReadLimits): Plugin {
  return {
    onExecute({ args, executeFn, setExecuteFn }) {
      const { document, operationName } = args as ExecutionArgs;
      if (getOperationAST(document, operationName)?.operation !== "query") return;
      const limitMs = hasReport(document) ? limits.report : limits.read;
      setExecuteFn(async (given: ExecutionArgs) => await withinTime(limitMs, () => executeFn(given)));
    },
  };
}

function hasReport(document: DocumentNode): boolean {
  let found = false;
  visit(document, {
    [Kind.FIELD](node) {
      found ||= reports.has(node.name.value);
    },
  });
  return found;
}
