import { withFieldNames } from "../collections/problems.ts";
import { ServiceError } from "../errors/errors.ts";
import { carryOut, type Operation, type OperationPlan, planOperation } from "../products/carry-out.ts";
import { burnTokens, transferTokens, updateToken } from "../products/change-tokens.ts";
import { lintUri, pinnedMetadata } from "../products/check-tokens.ts";
import { createContract } from "../products/create-contract.ts";
import type { ProductRequest } from "../products/find-product.ts";
import { type MintResult, mintMany } from "../products/mint-many.ts";
import { mintTokens } from "../products/mint-tokens.ts";
import type { RoleWord, TokensPayload } from "../transactions/store/payloads.ts";
import { type Builder, chainArg, contractArg, type GraphQLContext, present, sharedDescriptions } from "./builder.ts";
import { mintRequestType } from "./mint-request.ts";
import { standardWords } from "./nft-types.ts";
import { costFields } from "./request-fields.ts";
import { metadataInputType, readMetadata } from "./uploads.ts";
import { payloadType, toUserErrors, type UserError, userErrorType, withUserErrors } from "./user-errors.ts";

interface Outcome {
  request?: ProductRequest;
  plan?: OperationPlan;
  idempotencyKey: string;
  warnings: readonly string[];
}

/** Minting on a client's behalf: contracts, mints, updates, burns and transfers. */
export function addMints(builder: Builder): void {
  const payload = requestPayload(builder);
  const role = builder.enumType("ContractRole", {
    description:
      "What accounts may be allowed to do in a contract of `createContract`, beside its owner and the service.",
    values: {
      MINT: { description: "Mint tokens to any account." },
      UPDATE_CONTRACT: { description: "Change the settings of the contract, such as base URI and royalties." },
      UPDATE_TOKEN: { description: "Change or freeze the metadata URI of a token." },
      BURN: { description: "Burn tokens that the contract's owner holds." },
      TRANSFER: { description: "Transfer tokens that the contract's owner holds." },
    },
  });
  const roleList = builder.inputType("ContractRoleInput", {
    description: "The accounts that get a role in a new contract.",
    fields: (t) => ({
      role: t.field({ type: role, required: true, description: "The role; each may come once in a request." }),
      addresses: t.field({
        type: ["Address"],
        required: true,
        description: "The accounts that get it; 100 for all roles of the contract at most.",
      }),
      freeze: t.boolean({ description: "Whether the list never changes again; false by default." }),
    }),
  });
  const standard = builder.enumType("ProductStandard", {
    description: "The token standard of a contract to create.",
    values: standardWords,
  });
  const contractInput = builder.inputType("CreateContractInput", {
    description: "A contract in which the service mints for its account; nobody mints there for money.",
    fields: (t) => ({
      chain: t.field(chainArg),
      name: t.string({ required: true, description: "The name of the contract." }),
      symbol: t.string({ required: true, description: "The symbol of the contract, such as TIX." }),
      owner: t.field({
        type: "Address",
        required: true,
        description: "The wallet that will own the contract and may do everything in it.",
      }),
      standard: t.field({ type: standard, defaultValue: "ERC721", description: "The token standard of the contract." }),
      metadataUpdatable: t.boolean({
        defaultValue: false,
        description: "Whether metadata URIs of its tokens can be changed later.",
      }),
      baseUri: t.string({
        description: "A text that the contract puts before the URI of each token, such as ipfs://; empty by default.",
      }),
      royaltiesBps: t.int({ defaultValue: 0, description: sharedDescriptions.royaltiesBps }),
      royaltiesAddress: t.field({
        type: "Address",
        description: "The address that gets royalties; the owner by default.",
      }),
      roles: t.field({ type: [roleList], description: "Accounts that get roles in the contract; none by default." }),
      idempotencyKey: t.string({ description: sharedDescriptions.idempotencyKey }),
    }),
  });
  const metadata = metadataInputType(builder);
  const tokenInput = builder.inputType("MintTokenInput", {
    description: "A token to mint.",
    fields: (t) => ({
      to: t.field({ type: "Address", required: true, description: "The account that gets the token." }),
      uri: t.string({
        description: "The URI of the metadata document, such as ipfs://…, up to 2,048 bytes; send it or `metadata`.",
      }),
      metadata: t.field({
        type: metadata,
        description: "The metadata itself: it is stored on IPFS, and the token points to it.",
      }),
      tokenId: t.field({
        type: "TokenId",
        description: "The id of the token; when absent, one is drawn and belongs to the request from then on.",
      }),
      quantity: t.field({
        type: "Uint256",
        description: "How many units to mint, of an ERC-1155 contract; 1 by default.",
      }),
    }),
  });
  const movedInput = builder.inputType("MovedTokenInput", {
    description: "A token to burn or transfer, which the contract's owner holds.",
    fields: (t) => ({
      tokenId: t.field({ type: "TokenId", required: true, description: "The id of the token in its contract." }),
      quantity: t.field({ type: "Uint256", description: "How many units, of an ERC-1155 contract; 1 by default." }),
      to: t.field({
        type: "Address",
        description: "The account that gets the token; needed for a transfer, and ignored for a burn.",
      }),
    }),
  });
  const keyArgs = (t: ArgBuilder) => ({
    chain: t.arg(chainArg),
    contract: t.arg(contractArg),
    idempotencyKey: t.arg.string({ description: sharedDescriptions.idempotencyKey }),
    dryRun: t.arg.boolean({ defaultValue: false, description: sharedDescriptions.dryRun }),
  });
  builder.mutationFields((t) => ({
    createContract: t.field({
      type: payload,
      nullable: true,
      description: "Deploys a contract for minting on the account's behalf. Answers when its transaction is signed.",
      args: {
        input: t.arg({ type: contractInput, required: true, description: "The contract to create." }),
        dryRun: t.arg.boolean({ defaultValue: false, description: sharedDescriptions.dryRun }),
      },
      resolve: async (_root, { input, dryRun }, context) =>
        await run(context, dryRun, async (services, caller) => {
          const { owner, standard: given, royaltiesBps, roles, royaltiesAddress, ...rest } = present(input);
          return {
            operation: await createContract(services, caller, {
              ...rest,
              ownerAddress: owner,
              type: given === "ERC1155" ? "erc1155" : "erc721",
              royaltiesBps: BigInt(royaltiesBps ?? 0),
              royaltiesAddress: royaltiesAddress,
              roles: roles?.map((list) => ({
                role: list.role.toLowerCase() as RoleWord,
                addresses: list.addresses,
                freeze: list.freeze ?? false,
              })),
            }),
          };
        }),
    }),
    mint: t.field({
      type: payload,
      nullable: true,
      description: "Mints one token to any recipient, exactly once. Answers when its transaction is signed and stored.",
      args: {
        ...keyArgs(t as never),
        token: t.arg({ type: tokenInput, required: true, description: "The token to mint." }),
      },
      resolve: async (_root, { token, dryRun, ...place }, context) =>
        await run(context, dryRun, async (services, caller) => {
          const pinned = token.metadata ? pinnedMetadata(services, caller, readMetadata(token.metadata)) : null;
          if (pinned && token.uri)
            throw new ServiceError("value_error", "send a uri or metadata, not both", { field: "uri" });
          const one = { ...present(token), uri: pinned?.uri ?? token.uri ?? undefined };
          const operation = await mintTokens(services, caller, { ...present(place), tokens: [one], together: true });
          return { operation: { ...operation, ...(pinned ?? {}) }, warnings: pinned ? [] : lintUri(token.uri ?? "") };
        }),
    }),
    updateToken: t.field({
      type: payload,
      nullable: true,
      description: "Gives a token another metadata URI, or freezes the one it has.",
      args: {
        ...keyArgs(t as never),
        tokenId: t.arg({ type: "TokenId", required: true, description: "The id of the token in its contract." }),
        uri: t.arg.string({
          description:
            "The new metadata URI, such as ipfs://…, up to 2,048 bytes; absent: it stays, and `freeze` is needed.",
        }),
        freeze: t.arg.boolean({ description: "True freezes the metadata URI for good." }),
      },
      resolve: async (_root, { dryRun, ...given }, context) =>
        await run(context, dryRun, async (services, caller) => ({
          operation: await updateToken(services, caller, present(given)),
          warnings: given.uri ? lintUri(given.uri) : [],
        })),
    }),
    burn: t.field({
      type: payload,
      nullable: true,
      description: "Burns tokens that the contract's owner holds.",
      args: {
        ...keyArgs(t as never),
        tokens: t.arg({
          type: [movedInput],
          required: true,
          description: "The tokens: 1 to 50 of an ERC-1155 contract, exactly one of an ERC-721 contract.",
        }),
      },
      resolve: async (_root, { dryRun, tokens, ...place }, context) =>
        await run(context, dryRun, async (services, caller) => ({
          operation: await burnTokens(services, caller, { ...present(place), tokens: tokens.map(present) }),
        })),
    }),
    transfer: t.field({
      type: payload,
      nullable: true,
      description: "Transfers tokens that the contract's owner holds.",
      args: {
        ...keyArgs(t as never),
        tokens: t.arg({
          type: [movedInput],
          required: true,
          description: "The tokens: 1 to 50 of an ERC-1155 contract, exactly one of an ERC-721 contract.",
        }),
      },
      resolve: async (_root, { dryRun, tokens, ...place }, context) =>
        await run(context, dryRun, async (services, caller) => ({
          operation: await transferTokens(services, caller, { ...present(place), tokens: tokens.map(present) }),
        })),
    }),
    mintBatch: t.field({
      type: batchType(builder),
      nullable: true,
      description:
        "Mints several tokens: of an ERC-1155 contract by one request, of an ERC-721 contract by one for each. Those that wait at once share a transaction, in which each has its own outcome.",
      args: {
        ...keyArgs(t as never),
        tokens: t.arg({ type: [tokenInput], required: true, description: "The tokens to mint, 1 to 50." }),
      },
      resolve: async (_root, { dryRun, tokens, ...place }, context) => {
        const { services } = context;
        return await withUserErrors(context.caller(), async (caller) => {
          const given = tokens.map((token, index) => {
            if (token.metadata && token.uri)
              throw new ServiceError("value_error", "send a uri or metadata, not both", {
                field: `tokens[${index}].uri`,
              });
            const pinned = token.metadata ? pinnedMetadata(services, caller, readMetadata(token.metadata)) : null;
            return { ...present(token), uri: pinned?.uri ?? token.uri ?? undefined, store: pinned?.store };
          });
          const input = { ...present(place), tokens: given };
          const minted = mintMany(services, caller, input, { dryRun: dryRun ?? false });
          return { results: await withFieldNames(minted, shortName) };
        });
      },
    }),
  }));
}

// Pothos types a mutation's builder by its root; all that is used of it is how arguments are made.
type ArgBuilder = Parameters<Parameters<Builder["mutationField"]>[1]>[0];

function requestPayload(builder: Builder) {
  return payloadType<Outcome>(
    builder,
    "MintRequestPayload",
    "`createContract`, `mint`, `updateToken`, `burn` and `transfer`",
    (t) => ({
      request: t.expose("request", {
        type: mintRequestType(builder),
        nullable: true,
        description: "The request, signed and stored: its transaction is sent until it is mined. Null with `dryRun`.",
      }),
      plan: t.expose("plan", {
        type: planType(builder),
        nullable: true,
        description: "What the request would do and cost; only with `dryRun`.",
      }),
      idempotencyKey: t.exposeString("idempotencyKey", {
        nullable: true,
        description: "The key of this request, yours or a derived one; null when there are user errors.",
      }),
      warnings: t.stringList({
        description: "What is legal in the request, but probably not meant, in English.",
        resolve: ({ warnings }) => [...(warnings ?? [])],
      }),
    }),
  );
}

function planType(builder: Builder) {
  return builder.objectRef<OperationPlan>("MintPlan").implement({
    description: "What a request would do and cost; nothing of it was stored or spent.",
    fields: (t) => ({
      idempotencyKey: t.exposeString("idempotencyKey", {
        description: "The key to send the request with, so that it does what is planned.",
      }),
      contract: t.field({
        type: "Address",
        description: "The address of the contract that is called, or that would be deployed.",
        resolve: ({ contract }) => contract,
      }),
      tokenIds: t.field({
        type: ["TokenId"],
        description: "The ids of the request's tokens, those that were drawn for it too.",
        resolve: ({ payload }) =>
          ((payload as Partial<TokensPayload>).tokens ?? []).map(({ tokenId }) => BigInt(tokenId)),
      }),
      ...costFields(t),
    }),
  });
}

type Services = GraphQLContext["services"];
type Caller = Awaited<ReturnType<GraphQLContext["caller"]>>;

async function run(
  context: GraphQLContext,
  dryRun: boolean | null | undefined,
  prepare: (services: Services, caller: Caller) => Promise<{ operation: Operation; warnings?: readonly string[] }>,
) {
  const { services } = context;
  return await withUserErrors(context.caller(), async (caller) => {
    const act = async (): Promise<Outcome> => {
      const { operation, warnings = [] } = await prepare(services, caller);
      if (!dryRun) return { ...(await carryOut(services, caller, operation)), warnings };
      const plan = await planOperation(services, caller, operation);
      return { plan, idempotencyKey: plan.idempotencyKey, warnings };
    };
    return await withFieldNames(act(), shortName);
  });
}

function shortName(field: string): string {
  return field === "ownerAddress" ? "owner" : field;
}

/** What `mintBatch` answers: each token by itself. */
function batchType(builder: Builder) {
  const each = builder.objectRef<MintResult>("MintBatchResult").implement({
    description: "How one token of a list came out: its request, or what keeps it from being minted.",
    fields: (t) => ({
      request: t.field({
        type: mintRequestType(builder),
        nullable: true,
        description: "The request that mints the token; null when it is not minted and in a dry run.",
        resolve: ({ done }) => done?.request ?? null,
      }),
      userErrors: t.field({
        type: [userErrorType(builder)],
        description: "What keeps the token from being minted; empty when it is minted.",
        resolve: ({ fault }) => errorsOf(fault),
      }),
    }),
  });
  return payloadType<{ results: readonly MintResult[] }>(builder, "MintBatchPayload", "`mintBatch`", (t) => ({
    requests: t.field({
      type: [mintRequestType(builder)],
      description:
        "The requests that were accepted, in the order of the tokens; one for all tokens of an ERC-1155 contract, none in a dry run.",
      resolve: ({ results = [] }) => [
        ...new Map(results.flatMap(({ done }) => (done ? [[done.request.id, done.request]] : []))).values(),
      ],
    }),
    results: t.field({
      type: [each],
      description: "One result for each token, in their order; empty when the list was not begun.",
      resolve: ({ results = [] }) => [...results],
    }),
    userErrors: t.field({
      type: [userErrorType(builder)],
      description: "What is wrong with the list and with its tokens; tokens without an error are minted all the same.",
      resolve: ({ results = [], userErrors }) =>
        [...userErrors, ...new Set(results.map(({ fault }) => fault))].flatMap((item) =>
          item instanceof Error || item === null ? errorsOf(item) : [item],
        ),
    }),
  }));
}

function errorsOf(fault: MintResult["fault"]): UserError[] {
  return fault ? toUserErrors(fault) : [];
}
