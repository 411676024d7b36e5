import type { Page } from "../nfts/page.ts";
import { type ProductRequest, productRequests } from "../products/find-product.ts";
import { getRequest, listRequests, watchRequest } from "../requests/requests.ts";
import type { OperationToken, TokensPayload } from "../transactions/store/payloads.ts";
import { type Builder, chainField, oncePerBuilder } from "./builder.ts";
import { connectionCost, connectionOf, forwardArgs } from "./connection.ts";
import { addCancel, requestFields } from "./request-fields.ts";
import { viewerType } from "./viewer.ts";

/** `MintRequest`: a product contract, mint, update, burn or transfer of the account, from acceptance to finality. */
export const mintRequestType = oncePerBuilder((builder) => builder.objectRef<ProductRequest>("MintRequest"));

/** Its fields, and how such requests are read, listed, followed and cancelled. */
export function addMintRequests(builder: Builder): void {
  const request = mintRequestType(builder);
  addFields(builder);
  builder.queryField("mintRequest", (t) =>
    t.field({
      type: request,
      nullable: true,
      description: "One request of your account: a contract, mint, update, burn or transfer.",
      args: { id: t.arg.id({ required: true, description: "The id of the request." }) },
      resolve: async (_root, { id }, { services, caller }) =>
        await getRequest(services, await caller(), productRequests, { id }),
    }),
  );
  addList(builder);
  addCancel(builder, productRequests, request, {
    name: "cancelMintRequest",
    shown: "request",
    description:
      "Cancels a request of your account that is not mined yet. Fails for a mint that shares its transaction with other mints.",
  });
  builder.subscriptionField("mintRequest", (t) =>
    t.field({
      type: request,
      description:
        "A request of your account: its current state, then every change until it ends, for at most half an hour. Served as server-sent events.",
      args: { id: t.arg.id({ required: true, description: "The id of the request." }) },
      subscribe: async (_root, { id }, { services, caller }) =>
        await watchRequest(services, await caller(), productRequests, id),
      resolve: (item: ProductRequest) => item,
    }),
  );
}

function addFields(builder: Builder): void {
  const kind = builder.enumType("MintRequestKind", {
    description: "The action that a request asks for.",
    values: {
      CONTRACT: { description: "Deploy a product contract, in which the service mints." },
      CONTRACT_UPDATE: { description: "Change the settings of a product contract." },
      MINT: { description: "Mint one or more tokens." },
      TOKEN_UPDATE: { description: "Change or freeze the metadata URI of a token." },
      BURN: { description: "Burn one or more tokens." },
      TRANSFER: { description: "Transfer one or more tokens." },
    },
  });
  const token = builder.objectRef<OperationToken>("RequestedToken").implement({
    description: "A token that a request mints, updates, burns or transfers.",
    fields: (t) => ({
      tokenId: t.field({
        type: "TokenId",
        description: "The id of the token in its contract.",
        resolve: ({ tokenId }) => BigInt(tokenId),
      }),
      to: t.string({
        nullable: true,
        description: "The account that receives the token, as sent. Null for updates and burns.",
        resolve: ({ to }) => to ?? null,
      }),
      uri: t.string({
        nullable: true,
        description: "The metadata URI that a mint or an update sets. Null if it does not change.",
        resolve: ({ uri }) => uri ?? null,
      }),
      quantity: t.field({
        type: "Uint256",
        description: "The number of units; 1 for ERC-721.",
        resolve: ({ quantity }) => BigInt(quantity ?? "1"),
      }),
    }),
  });
  mintRequestType(builder).implement({
    description: "A contract, mint, update, burn or transfer of the account, from the request to finality.",
    fields: (t) => ({
      ...requestFields(builder, t),
      chain: t.string({ description: chainField.description, resolve: ({ chain }) => chain.name }),
      kind: t.field({
        type: kind,
        description: "The action that the request asks for.",
        resolve: (item) => item.kind.toUpperCase() as Uppercase<typeof item.kind>,
      }),
      error: t.exposeString("error", {
        nullable: true,
        description: "Why the request failed, in English. Null unless it failed.",
      }),
      contract: t.field({
        type: "Address",
        description:
          "The address of the contract that the request deploys or acts on. Send nothing there before `state` is CONFIRMED.",
        resolve: ({ contract }) => contract,
      }),
      tokenId: t.field({
        type: "TokenId",
        nullable: true,
        description:
          "The id of the request's first token. It is reserved for the request as soon as you have the answer. Null for a request without tokens.",
        resolve: (item) => {
          const [first] = tokensIn(item);
          return first ? BigInt(first.tokenId) : null;
        },
      }),
      tokens: t.field({
        type: [token],
        description: "The tokens of the request. Empty for contracts.",
        complexity: { multiplier: 5 },
        resolve: (item) => [...tokensIn(item)],
      }),
      transactionHash: t.field({
        type: "Hex",
        nullable: true,
        description:
          "The hash of the mined transaction or, before that, of the newest signed one. Null until it is signed.",
        resolve: ({ transactionHash }) => transactionHash,
      }),
      block: t.field({
        type: "Uint256",
        nullable: true,
        description: "The number of the block with the transaction. Null while it is in no block.",
        resolve: ({ block }) => block,
      }),
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
      description: "The account's requests for product contracts, newest first: mints only, or all kinds with `all`.",
      args: {
        ...forwardArgs(builder),
        all: t.arg.boolean({ defaultValue: false, description: "Return requests of all kinds, not only mints." }),
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
