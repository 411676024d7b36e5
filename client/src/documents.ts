/** What `gql.tada`, GraphQL Code Generator and `TypedDocumentNode` say of the types of a document. */
interface Typed<Result, Variables> {
  __apiType?: ((variables: Variables) => Result) | undefined;
}

/** A document as graphql-js and the tags parse it: it has its own text. */
interface Parsed {
  readonly kind: string;
  readonly loc?: { readonly source: { readonly body: string } } | undefined;
}

/**
 * A GraphQL document: its text, or one that a tag has parsed or given types (`@mintyard/client/graphql`, GraphQL Code
 * Generator in the mode `string`, graphql-tag). The result of a bare text is `unknown`.
 */
export type Document<Result, Variables> = string | (Typed<Result, Variables> & (Parsed | { toString(): string }));

export type VariableArguments<Variables, Options> =
  Record<never, never> extends Variables
    ? [variables?: Variables, options?: Options]
    : [variables: Variables, options?: Options];

/** @throws TypeError for a parsed document without its text. */
export function queryText(document: Document<unknown, never>): string {
  if (typeof document === "string") return document;
  if (!("kind" in document)) return String(document);
  const text = document.loc?.source.body;
  if (text === undefined)
    throw new TypeError(
      "this document has no text: pass it through print() of graphql, or use the tag of this package",
    );
  return text;
}
