import type { GraphQLError } from "graphql";
import { type ErrorGuide, guideOf } from "../errors/error-guide.ts";
import { type ErrorCode, isErrorCode } from "../errors/errors.ts";

/** Adds `code`, `cause` and `fix`, which every failure has, to an error raised by GraphQL itself. */
export function explainComplaint(error: GraphQLError, open: boolean): void {
  explainIncremental(error);
  const { extensions } = error;
  extensions["code"] ??= "value_error" satisfies ErrorCode;
  const code = String(extensions["code"]);
  const guide = documentGuides[code] ?? guideOf(isErrorCode(code) ? code : "value_error");
  for (const [name, text] of Object.entries(guide)) extensions[name] ??= text;
  // A caller who may not read the schema must not learn it from suggestions.
  if (!open) error.message = error.message.replace(/ Did you mean .*\?$/s, "");
}

/** By yoga's error codes. */
const documentGuides: Record<string, ErrorGuide> = {
  GRAPHQL_PARSE_FAILED: {
    cause: "The text is no GraphQL document.",
    fix: "`message` and `locations` say where it breaks off; send values as variables.",
  },
  PERSISTED_QUERY_NOT_FOUND: {
    cause: "This process does not know the document of that hash.",
    fix: "Send the hash and the document in `query` once; clients for persisted queries do it by themselves.",
  },
  PERSISTED_QUERY_NOT_SUPPORTED: {
    cause: "`extensions.persistedQuery` is of another kind than this service reads.",
    fix: "Send `version` 1 and the document's SHA-256 as hex in `sha256Hash`, or the document in `query` without a hash.",
  },
  PERSISTED_QUERY_HASH_MISMATCH: {
    cause: "The hash that was sent is not that of the document.",
    fix: "Hash the very text of `query` (SHA-256, UTF-8, hex in lower case).",
  },
  GRAPHQL_VALIDATION_FAILED: {
    cause: "The document asks for what the schema does not have, or in another form.",
    fix: "Compare it with the schema: /graphql in a browser, or an introspection query with your key.",
  },
};

/** Tells clients that use `@defer` or `@stream` that there is no incremental delivery, and what to use instead. */
function explainIncremental(error: GraphQLError): void {
  const [, directive] = /^Unknown directive "@(defer|stream)"/.exec(error.message) ?? [];
  if (directive === undefined) return;
  error.message = `@${directive} is not supported: there is no incremental delivery, an answer comes in one piece.`;
  error.extensions["cause"] = "The document asks for incremental delivery.";
  error.extensions["fix"] =
    directive === "defer"
      ? "Remove @defer, and ask for the slow fields in a request of their own."
      : "Remove @stream, and read the list by pages: `first` and `after` of its connection.";
}
