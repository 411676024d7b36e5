import { GraphQLError, Kind, parse, type ValidationRule } from "graphql";
import type { Plugin } from "graphql-yoga";

/** Tokens of a document: bounds the parser's recursion too. The introspection query of GraphiQL has about 400. */
const maxTokens = 2_000;
/** Aliases of a document: how often one field can be asked for. */
const maxAliases = 30;

/** Bounds on a document that hold before any field of it runs, for everybody, key or no key. */
export const documentLimits: Plugin = {
  onParse({ setParseFn }) {
    setParseFn((source: Parameters<typeof parse>[0], options?: Parameters<typeof parse>[1]) =>
      parse(source, { ...options, maxTokens }),
    );
  },
  onValidate({ addValidationRule }) {
    addValidationRule(limitAliases);
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
