import { initGraphQLTada } from "gql.tada";
import type { introspection } from "./generated/introspection.ts";

export type { introspection } from "./generated/introspection.ts";

/** How scalars of the schema are written in JSON. Numbers of wei, token ids and block numbers are decimal texts. */
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
/** The text of each document, with the fragments that it names. */
const sources = new WeakMap<object, { text: string; fragments: readonly object[] }>();

/**
 * The tag for documents of this service: results and variables have their types, by `gql.tada`, without a step that generates
 * anything. The second argument has the fragments that the text names; their fields are in the result as if they were
 * written in the text.
 *
 * @throws GraphQLError where the text is no GraphQL.
 */
export const graphql = Object.assign((text: string, fragments: readonly object[] = []) => {
  const document = tada(text, fragments as never) as object;
  sources.set(document, { text, fragments });
  // As graphql-js does; gql.tada leaves it out for operations, and a client would have to print them.
  const loc = { start: 0, end: text.length, source: { body: wholeText(document), name: "mintyard" } };
  return Object.defineProperty(document, "loc", { value: loc, enumerable: true });
}, tada) as unknown as typeof tada;

function wholeText(document: object, seen = new Set<object>()): string {
  const source = sources.get(document);
  if (!source || seen.has(document)) return "";
  seen.add(document);
  // For the types alone; no server knows it, and gql.tada takes it out of what it parses.
  const text = source.text.replaceAll(/@_unmask\b/g, "");
  return [text, ...source.fragments.map((fragment) => wholeText(fragment, seen))].join("\n").trim();
}
