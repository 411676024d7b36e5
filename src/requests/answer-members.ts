/*
 * The members of both APIs' answers, declared once, next to the type of the answer. GraphQL's object types
 * (graphql/expose-members.ts) and the OpenAPI schemas of REST (rest/openapi-parts.ts) are derived from them.
 */

type KindOf<V> = V extends number
  ? "integer"
  : V extends Date
    ? "date"
    : V extends readonly string[]
      ? "texts"
      : V extends string
        ? "id" | "text" | "address"
        : never;

export interface Member {
  kind: KindOf<number | Date | string | readonly string[]>;
  /** In English; values in backticks. */
  doc: string;
  nullable?: boolean | undefined;
  /** All values of a text, for the schema of REST; GraphQL has no enum for it. */
  words?: readonly string[] | undefined;
}

/** Declarations for an answer of type T; each API declares other members, such as lists of answers, itself. */
export type MembersOf<T> = {
  readonly [N in keyof T as [KindOf<NonNullable<T[N]>>] extends [never] ? never : N]?: Member & {
    kind: KindOf<NonNullable<T[N]>>;
    words?: readonly NonNullable<T[N]>[];
  } & (null extends T[N] ? { nullable: true } : { nullable?: never });
};
