import type { Page } from "../nfts/page.ts";
import { type ProductRequest, productRequests } from "../products/find-product.ts";
import { getRequest, listRequests, watchRequest } from "../requests/requests.ts";
import type { OperationToken, TokensPayload } from "../transactions/store/payloads.ts";
import { type Builder, oncePerBuilder } from "./builder.ts";
import { connectionCost, connectionOf } from "./connection.ts";
import { addCancel, requestFields } from "./request-fields.ts";
import { viewerType } from "./viewer.ts";

/** A contract, mint, update, burn or transfer of the account, from the request to the chain. */
export const mintRequestType = oncePerBuilder((builder) => builder.objectRef<ProductRequest>("MintRequest"));

/** Its fields, and how requests are read, listed, followed and cancelled. */
export function addMintRequests(builder: Builder): void {
  const request = mintRequestType(builder);
  addFields(builder);
  builder.queryField("mintRequest", (t) =>
    t.field({
      type: request,
      nullable: true,
      description: "One request of the caller's account.",
      args: { id: t.arg.id({ required: true }) },
      resolve: async (_root, { id }, { services, caller }) =>
        await getRequest(services, await caller(), productRequests, { id }),
    }),
  );
  addList(builder);
  addCancel(builder, productRequests, request, {
    name: "cancelMintRequest",
    shown: "request",
    description: "Takes a request of the caller's account back while the chain has not decided.",
  });
  builder.subscriptionField("mintRequest", (t) =>
    t.field({
      type: request,
      description:
        "A request of the caller's account, now and after each change, until it has ended or for half an hour. Served as server-sent events.",
      args: { id: t.arg.id({ required: true }) },
      subscribe: async (_root, { id }, { services, caller }) =>
        await watchRequest(services, await caller(), productRequests, id),
      resolve: (item: ProductRequest) => item,
    }),
  );
}

function addFields(builder: Builder): void {
  const kind = builder.enumType("MintRequestKind", {
    values: ["CONTRACT", "CONTRACT_UPDATE", "MINT", "TOKEN_UPDATE", "BURN", "TRANSFER"] as const,
  });
  const token = builder.objectRef<OperationToken>("RequestedToken").implement({
    description: "A token that a request mints, changes, burns or transfers.",
    fields: (t) => ({
      tokenId: t.field({ type: "TokenId", resolve: ({ tokenId }) => BigInt(tokenId) }),
      to: t.string({ nullable: true, description: "Who gets it, as sent.", resolve: ({ to }) => to ?? null }),
      uri: t.string({ nullable: true, resolve: ({ uri }) => uri ?? null }),
      quantity: t.field({ type: "Uint256", resolve: ({ quantity }) => BigInt(quantity ?? "1") }),
    }),
  });
  mintRequestType(builder).implement({
    description: "A contract, mint, update, burn or transfer of the account, from the request to the chain.",
    fields: (t) => ({
      ...requestFields(builder, t),
      chain: t.string({ resolve: ({ chain }) => chain.name }),
      kind: t.field({ type: kind, resolve: (item) => item.kind.toUpperCase() as Uppercase<typeof item.kind> }),
      error: t.exposeString("error", { nullable: true, description: "Why it failed; null unless it did." }),
      contract: t.field({
        type: "Address",
        description: "The contract it acts on, or deploys: send nothing there before `state` is CONFIRMED.",
        resolve: ({ contract }) => contract,
      }),
      tokenId: t.field({
        type: "TokenId",
        nullable: true,
        description: "The id of its first token: it belongs to the request from the answer on.",
        resolve: (item) => {
          const [first] = tokensIn(item);
          return first ? BigInt(first.tokenId) : null;
        },
      }),
      tokens: t.field({ type: [token], complexity: { multiplier: 5 }, resolve: (item) => [...tokensIn(item)] }),
      transactionHash: t.field({
        type: "Hex",
        nullable: true,
        description: "The transaction that did it, else the newest signed one; null before the signature.",
        resolve: ({ transactionHash }) => transactionHash,
      }),
      block: t.field({ type: "Uint256", nullable: true, resolve: ({ block }) => block }),
    }),
  });
}

function tokensIn({ payload }: ProductRequest): readonly OperationToken[] {
  return (payload as Partial<TokensPayload>).tokens ?? [];
}

function addList(builder: Builder): void {
  const request = mintRequestType(builder);
  const connection = connectionOf<ProductRequest, Page<ProductRequest>>(builder, "MintRequest", request);
  builder.objectField(viewerType(builder), "mints", (t) =>
    t.field({
      type: connection,
      nullable: true,
      description: "What the account asked its product contracts for, newest first: mints, and with `all` everything.",
      args: {
        first: t.arg.int({ defaultValue: 20 }),
        after: t.arg.string(),
        all: t.arg.boolean({ defaultValue: false }),
      },
      complexity: connectionCost,
      resolve: async (_root, { first, after, all }, { services, caller }) =>
        await listRequests(services, await caller(), productRequests, {
          ...(all ? {} : { kinds: ["mint"] as const }),
          first: first ?? 20,
          after: after ?? undefined,
        }),
    }),
  );
}
