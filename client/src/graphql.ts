import { initGraphQLTada } from "gql.tada";
import type { introspection } from "./generated/introspection.ts";

export type { introspection } from "./generated/introspection.ts";

/** JSON types of the schema's scalars. Wei amounts, token ids and block numbers are decimal strings. */
export interface Scalars {
  Address: string;
  CID: string;
  ChainName: string;
  DateTime: string;
  Hex: string;
  JSON: unknown;
  TokenId: string;
  Uint256: string;
  Upload: Blob;
  Wei: string;
}

const tada = initGraphQLTada<{ introspection: introspection; scalars: Scalars; disableMasking: true }>();
/** Each document's text, and the fragments that it uses. */
const sources = new WeakMap<object, { text: string; fragments: readonly object[] }>();

/**
 * The tag for documents of this service: `gql.tada` types their results and variables without a code generation step.
 * The second argument has the fragments that the text uses; their fields are in the result as if they were written in
 * the text.
 *
 * @throws GraphQLError when the text is not valid GraphQL.
 */
export const graphql = Object.assign((text: string, fragments: readonly object[] = []) => {
  const document = tada(text, fragments as never) as object;
  sources.set(document, { text, fragments });
  // As in graphql-js; gql.tada leaves it out for operations, and clients would have to print them.
  const loc = { start: 0, end: text.length, source: { body: wholeText(document), name: "mintyard" } };
  return Object.defineProperty(document, "loc", { value: loc, enumerable: true });
}, tada) as unknown as typeof tada;

function wholeText(document: object, seen = new Set<object>()): string {
  const source = sources.get(document);
  if (!source || seen.has(document)) return "";
  seen.add(document);
  // Only for the types: no server knows the directive, and gql.tada removes it from what it parses.
  const text = source.text.replaceAll(/@_unmask\b/g, "");
  return [text, ...source.fragments.map((fragment) => wholeText(fragment, seen))].join("\n").trim();
}
