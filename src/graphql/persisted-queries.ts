import { createHash } from "node:crypto";
import { GraphQLError } from "graphql";
import type { Plugin } from "graphql-yoga";
import { DocumentCache } from "./document-cache.ts";

/** Hashes of longer documents are never remembered: a few hundred of those would fill a process's memory. */
const maxText = 10_000;

type Extensions = Readonly<Record<string, unknown>>;

/** The hash in `extensions.persistedQuery`; null if the request has none. */
function hashOf(extensions: Extensions | null | undefined): string | null {
  const { version, sha256Hash } = (extensions?.["persistedQuery"] ?? {}) as Record<string, unknown>;
  return version === 1 && typeof sha256Hash === "string" ? sha256Hash : null;
}

/**
 * Automatic persisted queries, as Apollo's and urql's clients send them: a client names a document by its SHA-256. An
 * unknown hash is refused with `PERSISTED_QUERY_NOT_FOUND`; the client then sends the hash with the document, and from
 * then on the hash alone. Each process keeps a few hundred documents of its own; clients resend what it has evicted.
 */
export class PersistedQueries {
  readonly #texts = new DocumentCache<string>();

  /** The document of a request, by its text or a known hash. @returns null: only `plugin` can decide. */
  textOf(query: unknown, extensions: Extensions | null | undefined): string | null {
    if (extensions?.["persistedQuery"] === undefined) return typeof query === "string" ? query : null;
    const known = this.#texts.get(hashOf(extensions) ?? "") ?? null;
    return query === undefined || query === known ? known : null;
  }

  /** Puts the document where yoga reads it, or refuses the request. Must run before all plugins that read documents. */
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
      // Clients look for exactly this message.
      if (!query) throw refusal("PERSISTED_QUERY_NOT_FOUND", "PersistedQueryNotFound");
      // Yoga refuses anything but a string.
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

/** @param status 200 for errors of Apollo's protocol: its clients read the body of no other status. */
function refusal(code: string, message: string, status = 200): GraphQLError {
  return new GraphQLError(message, { extensions: { code, http: { status } } });
}
