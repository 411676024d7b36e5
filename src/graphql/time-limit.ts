import { type DocumentNode, type ExecutionArgs, getOperationAST, Kind, visit } from "graphql";
import type { Plugin } from "graphql-yoga";
import { withinTime } from "../accounts/request-scope.ts";
import type { ReadLimits } from "../config/read-limits.ts";

/** Fields that count or sum up, and may take longer for it. */
const reports = new Set(["holders", "metadataProgress", "owners", "search", "statistics", "traits"]);

/**
 * Ends a query whose time is over: it fails with `read_timeout`, and its statements are cancelled. Mutations are never
 * ended: what they began has to be told.
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
