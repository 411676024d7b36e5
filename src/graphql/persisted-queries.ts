import { createHash } from "node:crypto";
import { GraphQLError } from "graphql";
import type { Plugin } from "graphql-yoga";
import { DocumentCache } from "./document-cache.ts";

/** Of a longer one the hash is never known: a few hundred of them would be the memory of a process. */
const maxText = 10_000;

type Extensions = Readonly<Record<string, unknown>>;

/** Of `extensions.persistedQuery`; null: the request names no document by its hash. */
function hashOf(extensions: Extensions | null | undefined): string | null {
  const { version, sha256Hash } = (extensions?.["persistedQuery"] ?? {}) as Record<string, unknown>;
  return version === 1 && typeof sha256Hash === "string" ? sha256Hash : null;
}

/**
 * Documents that clients name by their SHA-256 ("automatic persisted queries", as Apollo's and urql's clients send them).
 * A hash that is not known is refused with `PERSISTED_QUERY_NOT_FOUND`; the client then sends the hash and the document, and
 * from then on the hash alone. Each process keeps its own few hundred; what it forgets, clients send again.
 */
export class PersistedQueries {
  readonly #texts = new DocumentCache<string>();

  /** The document that a request asks for, by its text or by a known hash. @returns null: only `plugin` can say. */
  textOf(query: unknown, extensions: Extensions | null | undefined): string | null {
    if (extensions?.["persistedQuery"] === undefined) return typeof query === "string" ? query : null;
    const known = this.#texts.get(hashOf(extensions) ?? "") ?? null;
    return query === undefined || query === known ? known : null;
  }

  /** Puts the document where yoga reads it, or refuses the request. It is to run before every plugin that reads documents. */
  readonly plugin: Plugin = {
    onParams: ({ params, setParams }) => {
      const extensions = params.extensions as Extensions | undefined;
      if (extensions?.["persistedQuery"] === undefined) return;
      const hash = hashOf(extensions);
      if (hash === null)
        throw refusal(
          "PERSISTED_QUERY_NOT_SUPPORTED",
          "PersistedQueryNotSupported: only `version` 1 with `sha256Hash`",
        );
      const query: unknown = this.textOf(params.query ?? undefined, extensions) ?? params.query;
      // The words that clients look for.
      if (!query) throw refusal("PERSISTED_QUERY_NOT_FOUND", "PersistedQueryNotFound");
      // Yoga refuses what is no text.
      if (typeof query !== "string") return;
      if (this.#texts.get(hash) !== query) {
        if (createHash("sha256").update(query).digest("hex") !== hash)
          throw refusal("PERSISTED_QUERY_HASH_MISMATCH", "the document has another SHA-256 than `sha256Hash`", 400);
        if (query.length <= maxText) this.#texts.set(hash, query);
      }
      setParams({ ...params, query });
    },
  };
}

/** @param status 200 where clients that follow Apollo's protocol read the body of no other. */
function refusal(code: string, message: string, status = 200): GraphQLError {
  return new GraphQLError(message, { extensions: { code, http: { status } } });
}
