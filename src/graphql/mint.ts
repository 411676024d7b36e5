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
import { type Builder, type GraphQLContext, present } from "./builder.ts";
import { mintRequestType } from "./mint-request.ts";
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
  const shared = {
    idempotencyKey: "Requests with one key are one request, for ever. Without a key equal requests within minutes are.",
    dryRun: "Check everything, simulate, and say what it would cost; nothing is stored or spent.",
  };
  const role = builder.enumType("ContractRole", {
    values: ["MINT", "UPDATE_CONTRACT", "UPDATE_TOKEN", "BURN", "TRANSFER"] as const,
  });
  const roleList = builder.inputType("ContractRoleInput", {
    fields: (t) => ({
      role: t.field({ type: role, required: true }),
      addresses: t.field({ type: ["Address"], required: true }),
      freeze: t.boolean({ description: "The list never changes again." }),
    }),
  });
  const standard = builder.enumType("ProductStandard", { values: ["ERC721", "ERC1155"] as const });
  const contractInput = builder.inputType("CreateContractInput", {
    description: "A contract in which the service mints for its account; nobody mints there for money.",
    fields: (t) => ({
      chain: t.field({ type: "ChainName", required: true }),
      name: t.string({ required: true }),
      symbol: t.string({ required: true }),
      owner: t.field({ type: "Address", required: true }),
      standard: t.field({ type: standard, defaultValue: "ERC721" }),
      metadataUpdatable: t.boolean({ defaultValue: false }),
      baseUri: t.string({ description: "Goes before the URI of each token." }),
      royaltiesBps: t.int({ defaultValue: 0, description: "500 is 5 %." }),
      royaltiesAddress: t.field({ type: "Address", description: "Default: the owner." }),
      roles: t.field({ type: [roleList] }),
      idempotencyKey: t.string({ description: shared.idempotencyKey }),
    }),
  });
  const metadata = metadataInputType(builder);
  const tokenInput = builder.inputType("MintTokenInput", {
    fields: (t) => ({
      to: t.field({ type: "Address", required: true }),
      uri: t.string({ description: "Of the metadata document; or send `metadata`." }),
      metadata: t.field({ type: metadata, description: "Pinned first; the token points to it." }),
      tokenId: t.field({ type: "TokenId", description: "Absent: drawn, and the request's own from then on." }),
      quantity: t.field({ type: "Uint256", description: "Of an ERC-1155 contract; default 1." }),
    }),
  });
  const movedInput = builder.inputType("MovedTokenInput", {
    fields: (t) => ({
      tokenId: t.field({ type: "TokenId", required: true }),
      quantity: t.field({ type: "Uint256" }),
      to: t.field({ type: "Address", description: "Of a transfer." }),
    }),
  });
  const keyArgs = (t: ArgBuilder) => ({
    chain: t.arg({ type: "ChainName", required: true }),
    contract: t.arg({ type: "Address", required: true }),
    idempotencyKey: t.arg.string({ description: shared.idempotencyKey }),
    dryRun: t.arg.boolean({ defaultValue: false, description: shared.dryRun }),
  });
  builder.mutationFields((t) => ({
    createContract: t.field({
      type: payload,
      nullable: true,
      description: "Deploys a contract for minting on the account's behalf. Answers when its transaction is signed.",
      args: {
        input: t.arg({ type: contractInput, required: true }),
        dryRun: t.arg.boolean({ defaultValue: false, description: shared.dryRun }),
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
      args: { ...keyArgs(t as never), token: t.arg({ type: tokenInput, required: true }) },
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
        tokenId: t.arg({ type: "TokenId", required: true }),
        uri: t.arg.string(),
        freeze: t.arg.boolean({ description: "True: never again another one." }),
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
      args: { ...keyArgs(t as never), tokens: t.arg({ type: [movedInput], required: true }) },
      resolve: async (_root, { dryRun, tokens, ...place }, context) =>
        await run(context, dryRun, async (services, caller) => ({
          operation: await burnTokens(services, caller, { ...present(place), tokens: tokens.map(present) }),
        })),
    }),
    transfer: t.field({
      type: payload,
      nullable: true,
      description: "Transfers tokens that the contract's owner holds.",
      args: { ...keyArgs(t as never), tokens: t.arg({ type: [movedInput], required: true }) },
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
      args: { ...keyArgs(t as never), tokens: t.arg({ type: [tokenInput], required: true }) },
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
  return payloadType<Outcome>(builder, "MintRequestPayload", (t) => ({
    request: t.expose("request", {
      type: mintRequestType(builder),
      nullable: true,
      description: "Signed and stored: it will be driven to an end.",
    }),
    plan: t.expose("plan", {
      type: planType(builder),
      nullable: true,
      description: "With `dryRun`: what the request would do.",
    }),
    idempotencyKey: t.exposeString("idempotencyKey", { nullable: true }),
    warnings: t.stringList({
      description: "Legal, but probably not meant.",
      resolve: ({ warnings }) => [...(warnings ?? [])],
    }),
  }));
}

function planType(builder: Builder) {
  return builder.objectRef<OperationPlan>("MintPlan").implement({
    description: "What a request would do; send it with this `idempotencyKey`.",
    fields: (t) => ({
      idempotencyKey: t.exposeString("idempotencyKey"),
      contract: t.field({ type: "Address", resolve: ({ contract }) => contract }),
      tokenIds: t.field({
        type: ["TokenId"],
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
        resolve: ({ done }) => done?.request ?? null,
      }),
      userErrors: t.field({ type: [userErrorType(builder)], resolve: ({ fault }) => errorsOf(fault) }),
    }),
  });
  return payloadType<{ results: readonly MintResult[] }>(builder, "MintBatchPayload", (t) => ({
    requests: t.field({
      type: [mintRequestType(builder)],
      description:
        "Those that were carried out, in the order of the tokens; one for all of an ERC-1155 contract. None in a dry run.",
      resolve: ({ results = [] }) => [
        ...new Map(results.flatMap(({ done }) => (done ? [[done.request.id, done.request]] : []))).values(),
      ],
    }),
    results: t.field({
      type: [each],
      description: "One for each token, in their order; empty when the list was not begun.",
      resolve: ({ results = [] }) => [...results],
    }),
    userErrors: t.field({
      type: [userErrorType(builder)],
      description: "Of the list and of all its tokens; the tokens that have none are minted.",
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
