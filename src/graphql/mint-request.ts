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
      description: "One request of the caller's account: a contract, mint, update, burn or transfer.",
      args: { id: t.arg.id({ required: true, description: "The id of the request." }) },
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
      args: { id: t.arg.id({ required: true, description: "The id of the request." }) },
      subscribe: async (_root, { id }, { services, caller }) =>
        await watchRequest(services, await caller(), productRequests, id),
      resolve: (item: ProductRequest) => item,
    }),
  );
}

function addFields(builder: Builder): void {
  const kind = builder.enumType("MintRequestKind", {
    description: "What a request asks the service to do.",
    values: {
      CONTRACT: { description: "Deploy a contract to mint in." },
      CONTRACT_UPDATE: { description: "Change the settings of such a contract." },
      MINT: { description: "Mint one or more tokens." },
      TOKEN_UPDATE: { description: "Change or freeze the metadata URI of a token." },
      BURN: { description: "Burn one or more tokens." },
      TRANSFER: { description: "Transfer one or more tokens." },
    },
  });
  const token = builder.objectRef<OperationToken>("RequestedToken").implement({
    description: "A token that a request mints, changes, burns or transfers.",
    fields: (t) => ({
      tokenId: t.field({
        type: "TokenId",
        description: "The id of the token in its contract.",
        resolve: ({ tokenId }) => BigInt(tokenId),
      }),
      to: t.string({
        nullable: true,
        description: "The account that gets it, as it was sent; null for updates and burns.",
        resolve: ({ to }) => to ?? null,
      }),
      uri: t.string({
        nullable: true,
        description: "The metadata URI of a mint or an update; null where it does not change.",
        resolve: ({ uri }) => uri ?? null,
      }),
      quantity: t.field({
        type: "Uint256",
        description: "How many units; 1 for ERC-721.",
        resolve: ({ quantity }) => BigInt(quantity ?? "1"),
      }),
    }),
  });
  mintRequestType(builder).implement({
    description: "A contract, mint, update, burn or transfer of the account, from the request to the chain.",
    fields: (t) => ({
      ...requestFields(builder, t),
      chain: t.string({ description: chainField.description, resolve: ({ chain }) => chain.name }),
      kind: t.field({
        type: kind,
        description: "What the request asks the service to do.",
        resolve: (item) => item.kind.toUpperCase() as Uppercase<typeof item.kind>,
      }),
      error: t.exposeString("error", {
        nullable: true,
        description: "Why the request failed, in English; null unless it did.",
      }),
      contract: t.field({
        type: "Address",
        description:
          "The address of the contract that it acts on, or deploys: send nothing there before `state` is CONFIRMED.",
        resolve: ({ contract }) => contract,
      }),
      tokenId: t.field({
        type: "TokenId",
        nullable: true,
        description:
          "The id of its first token, which belongs to the request from the answer on; null for a request without tokens.",
        resolve: (item) => {
          const [first] = tokensIn(item);
          return first ? BigInt(first.tokenId) : null;
        },
      }),
      tokens: t.field({
        type: [token],
        description: "The tokens of the request; empty for contracts.",
        complexity: { multiplier: 5 },
        resolve: (item) => [...tokensIn(item)],
      }),
      transactionHash: t.field({
        type: "Hex",
        nullable: true,
        description:
          "The hash of the transaction that did it, else of the newest signed one; null before the signature.",
        resolve: ({ transactionHash }) => transactionHash,
      }),
      block: t.field({
        type: "Uint256",
        nullable: true,
        description: "The number of the block with the transaction; null while it is in none.",
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
      description:
        "What the account asked of contracts made by `createContract`, newest first: mints, and with `all` every request.",
      args: {
        ...forwardArgs(builder),
        all: t.arg.boolean({ defaultValue: false, description: "List requests of all kinds, not only mints." }),
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
