import type { MintResult } from "../products/mint-many.ts";
import type { Builder } from "./builder.ts";
import { mintRequestType } from "./mint-request.ts";
import { toUserErrors, type UserError, userErrorType } from "./user-errors.ts";

type Payload = { result: readonly MintResult[] | null; userErrors: readonly UserError[] };

/** What `mintBatch` answers: each token by itself. */
export function batchType(builder: Builder) {
  const each = builder.objectRef<MintResult>("MintBatchResult").implement({
    description: "How one token of a list came out: its request, or what keeps it from being minted.",
    fields: (t) => ({
      request: t.field({
        type: mintRequestType(builder),
        nullable: true,
        resolve: ({ done }) => done?.request ?? null,
      }),
      userErrors: t.field({ type: [userErrorType(builder)], resolve: ({ fault }) => errorsOf(fault) }),
    }),
  });
  return builder.objectRef<Payload>("MintBatchPayload").implement({
    fields: (t) => ({
      requests: t.field({
        type: [mintRequestType(builder)],
        description:
          "Those that were carried out, in the order of the tokens; one for all of an ERC-1155 contract. None in a dry run.",
        resolve: ({ result }) => [
          ...new Map((result ?? []).flatMap(({ done }) => (done ? [[done.request.id, done.request]] : []))).values(),
        ],
      }),
      results: t.field({
        type: [each],
        description: "One for each token, in their order; empty when the list was not begun.",
        resolve: ({ result }) => [...(result ?? [])],
      }),
      userErrors: t.field({
        type: [userErrorType(builder)],
        description: "Of the list and of all its tokens; the tokens that have none are minted.",
        resolve: ({ result, userErrors }) =>
          [...userErrors, ...new Set((result ?? []).map(({ fault }) => fault))].flatMap((item) =>
            item instanceof Error || item === null ? errorsOf(item) : [item],
          ),
      }),
    }),
  });
}

function errorsOf(fault: MintResult["fault"]): UserError[] {
  return fault ? toUserErrors(fault) : [];
}
