/** The properties by which `gql.tada`, GraphQL Code Generator and `TypedDocumentNode` type a document. */
interface Typed<Result, Variables> {
  __apiType?: ((variables: Variables) => Result) | undefined;
}

/** A document as parsed by graphql-js and the tags; it contains its own text. */
interface Parsed {
  readonly kind: string;
  readonly loc?: { readonly source: { readonly body: string } } | undefined;
}

/**
 * A GraphQL document: its text, or a document that was parsed or typed by a tag (`@mintyard/client/graphql`, GraphQL
 * Code Generator in `string` mode, graphql-tag). The result of a bare text is `unknown`.
 */
export type Document<Result, Variables> = string | (Typed<Result, Variables> & (Parsed | { toString(): string }));

export type VariableArguments<Variables, Options> =
  Record<never, never> extends Variables
    ? [variables?: Variables, options?: Options]
    : [variables: Variables, options?: Options];

/** @throws TypeError for a parsed document that does not contain its text. */
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
