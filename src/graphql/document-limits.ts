import { type DocumentNode, GraphQLError, Kind, parse, type ValidationRule, validate } from "graphql";
import type { Plugin } from "graphql-yoga";
import { sizeFault } from "./document-size.ts";

/** Tokens of a document: bounds the parser's recursion too. The introspection query of GraphiQL has about 400. */
const maxTokens = 2_000;
/** Aliases of a document: how often one field can be asked for. */
const maxAliases = 30;
/** Faults that are told of a document: for each unknown name the schema is searched for names like it. */
const maxErrors = 5;
/** Documents whose size was looked at and found bearable. */
const bearable = new WeakSet<DocumentNode>();

/** Bounds on a document that hold before any field of it runs, for everybody, key or no key. */
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
