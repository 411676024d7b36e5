import type { Page } from "../nfts/page.ts";
import { type ProductRequest, productRequests } from "../products/find-product.ts";
import { cancelRequest, getRequest, listRequests, watchRequest } from "../requests/requests.ts";
import type { OperationToken, TokensPayload } from "../transactions/store/payloads.ts";
import { type Builder, oncePerBuilder } from "./builder.ts";
import { connectionCost } from "./connection.ts";
import type { StateName, StateRef } from "./deployment-type.ts";
import { connectionOf } from "./page-types.ts";
import { type UserError, userErrorType, withUserErrors } from "./user-errors.ts";
import { viewerType } from "./viewer.ts";

/** A contract, mint, update, burn or transfer of the account, from the request to the chain. */
export const mintRequestType = oncePerBuilder((builder) => builder.objectRef<ProductRequest>("MintRequest"));

/** Its fields, and how requests are read, listed, followed and cancelled. */
export function addMintRequests(builder: Builder, state: StateRef): void {
  const request = mintRequestType(builder);
  addFields(builder, state);
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
  const payload = builder
    .objectRef<{ result: ProductRequest | null; userErrors: readonly UserError[] }>("CancelMintRequestPayload")
    .implement({
      fields: (t) => ({
        request: t.field({ type: request, nullable: true, resolve: ({ result }) => result }),
        userErrors: t.field({ type: [userErrorType(builder)], resolve: ({ userErrors }) => [...userErrors] }),
      }),
    });
  builder.mutationField("cancelMintRequest", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description: "Takes a request of the caller's account back while the chain has not decided.",
      args: { id: t.arg.id({ required: true }) },
      resolve: async (_root, { id }, { services, caller }) => {
        const account = await caller();
        return await withUserErrors(() => cancelRequest(services, account, productRequests, id));
      },
    }),
  );
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

function addFields(builder: Builder, state: StateRef): void {
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
      id: t.exposeID("id"),
      kind: t.field({ type: kind, resolve: (item) => item.kind.toUpperCase() as Uppercase<typeof item.kind> }),
      chain: t.string({ resolve: ({ chain }) => chain.name }),
      state: t.field({ type: state, resolve: (item) => item.state.toUpperCase() as StateName }),
      holdReason: t.exposeString("holdReason", { nullable: true, description: "Why it does not go on now." }),
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
      transactionUrl: t.string({
        nullable: true,
        resolve: ({ chain, transactionHash }) => transactionHash && `${chain.explorerTxUrl}/${transactionHash}`,
      }),
      block: t.field({ type: "Uint256", nullable: true, resolve: ({ block }) => block }),
      createdAt: t.expose("createdAt", { type: "DateTime" }),
      updatedAt: t.expose("updatedAt", { type: "DateTime" }),
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
