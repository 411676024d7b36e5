import { withFieldNames } from "../collections/problems.ts";
import { ServiceError } from "../errors/errors.ts";
import { carryOut, type Operation, type OperationPlan, planOperation } from "../products/carry-out.ts";
import { burnTokens, transferTokens, updateToken } from "../products/change-tokens.ts";
import { lintUri, mintFields, pinnedMetadata, tokenUpdateFields, transferFields } from "../products/check-tokens.ts";
import { contractFields, createContract, roleFields, roleWords } from "../products/create-contract.ts";
import { type ProductRequest, productFields } from "../products/find-product.ts";
import { type MintResult, mintMany } from "../products/mint-many.ts";
import { mintTokens } from "../products/mint-tokens.ts";
import { renamerOf } from "../requests/fields.ts";
import type { TokensPayload } from "../transactions/store/payloads.ts";
import { type Builder, type GraphQLContext, sharedDescriptions } from "./builder.ts";
import { argsOf, enumValues, inputFields, inputTypeOf, readInput } from "./inputs.ts";
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
    description: "A permission in a product contract, for accounts other than its owner and the service.",
    values: enumValues(roleWords),
  });
  const roleList = inputTypeOf(
    builder,
    "ContractRoleInput",
    "The accounts that receive a role in a new contract.",
    roleFields,
    {
      role,
    },
  );
  const standard = builder.enumType("ProductStandard", {
    description: "The token standard of the contract to create.",
    values: standardWords,
  });
  const contractInput = inputTypeOf(
    builder,
    "CreateContractInput",
    "A product contract: the service mints in it for your account, and it has no sale.",
    contractFields,
    { type: standard, roles: [roleList] },
  );
  const tokenInput = builder.inputRef<object>("MintTokenInput").implement({
    description: "A token to mint.",
    fields: (t) => ({
      ...inputFields(t, mintFields),
      metadata: t.field({
        type: metadataInputType(builder),
        description: "The metadata document itself. It is stored on IPFS, and the token points to it.",
      }),
    }),
  });
  const movedInput = inputTypeOf(
    builder,
    "MovedTokenInput",
    "A token to burn or transfer, owned by the contract's owner.",
    transferFields,
  );
  const dryRunArg = (t: ArgBuilder) => t.arg.boolean({ defaultValue: false, description: sharedDescriptions.dryRun });
  const placeArgs = (t: ArgBuilder) => ({ ...argsOf(t, productFields), dryRun: dryRunArg(t) });
  builder.mutationFields((t) => ({
    createContract: t.field({
      type: payload,
      nullable: true,
      description:
        "Deploys a contract in which the service mints for your account. Returns once its transaction is signed.",
      args: {
        input: t.arg({ type: contractInput, required: true, description: "The contract to create." }),
        dryRun: dryRunArg(t as never),
      },
      resolve: async (_root, { input, dryRun }, context) =>
        await run(context, dryRun, async (services, caller) => ({
          operation: await createContract(services, caller, readInput(contractFields, input)),
        })),
    }),
    mint: t.field({
      type: payload,
      nullable: true,
      description: "Mints one token to any recipient, exactly once. Returns once its transaction is signed and stored.",
      args: {
        ...placeArgs(t as never),
        token: t.arg({ type: tokenInput, required: true, description: "The token to mint." }),
      },
      resolve: async (_root, { token, dryRun, ...place }, context) =>
        await run(context, dryRun, async (services, caller) => {
          const { store, ...one } = readToken(services, caller, token, "uri");
          const input = { ...readInput(productFields, place), tokens: [one], together: true };
          const operation = await mintTokens(services, caller, input);
          return {
            operation: { ...operation, ...(store ? { store } : {}) },
            warnings: store ? [] : lintUri(one.uri ?? ""),
          };
        }),
    }),
    updateToken: t.field({
      type: payload,
      nullable: true,
      description: "Changes the metadata URI of a token, freezes it, or both.",
      args: { ...placeArgs(t as never), ...argsOf(t as never, tokenUpdateFields) },
      resolve: async (_root, { dryRun, ...given }, context) =>
        await run(context, dryRun, async (services, caller) => {
          const input = readInput({ ...productFields, ...tokenUpdateFields }, given);
          return {
            operation: await updateToken(services, caller, input),
            warnings: input.uri ? lintUri(input.uri) : [],
          };
        }),
    }),
    ...Object.fromEntries(
      (
        [
          ["burn", "Burns", burnTokens],
          ["transfer", "Transfers", transferTokens],
        ] as const
      ).map(([name, does, prepare]) => [
        name,
        t.field({
          type: payload,
          nullable: true,
          description: `${does} tokens owned by the contract's owner.`,
          args: {
            ...placeArgs(t as never),
            tokens: t.arg({
              type: [movedInput],
              required: true,
              description: "The tokens: 1 to 50 of an ERC-1155 contract, exactly one of an ERC-721 contract.",
            }),
          },
          resolve: async (_root, { dryRun, tokens, ...place }, context) =>
            await run(context, dryRun, async (services, caller) => ({
              operation: await prepare(services, caller, {
                ...readInput(productFields, place),
                tokens: tokens.map((token) => readInput(transferFields, token)),
              }),
            })),
        }),
      ]),
    ),
    mintBatch: t.field({
      type: batchType(builder),
      nullable: true,
      description:
        "Mints several tokens: in one request for an ERC-1155 contract, in one request per token for an ERC-721 contract. Requests that wait at the same time share a transaction; each of them succeeds or fails on its own.",
      args: {
        ...placeArgs(t as never),
        tokens: t.arg({ type: [tokenInput], required: true, description: "The tokens to mint, 1 to 50." }),
      },
      resolve: async (_root, { dryRun, tokens, ...place }, context) => {
        const { services } = context;
        return await withUserErrors(context.caller(), async (caller) => {
          const given = tokens.map((token, index) => readToken(services, caller, token, `tokens[${index}].uri`));
          const input = { ...readInput(productFields, place), tokens: given };
          const minted = mintMany(services, caller, input, { dryRun: dryRun ?? false });
          return { results: await withFieldNames(minted, shortName) };
        });
      },
    }),
  }));
}

/**
 * @param sent a `MintTokenInput`.
 * @param field the name of its `uri` in errors.
 * @returns the token and, if metadata was sent instead of a URI, a function that stores it.
 */
function readToken(services: Services, caller: Caller, sent: object, field: string) {
  const token = readInput(mintFields, sent);
  const { metadata } = sent as { metadata?: Parameters<typeof readMetadata>[0] | null };
  if (!metadata) return { ...token, store: undefined };
  if (token.uri) throw new ServiceError("value_error", "send a uri or metadata, not both", { field });
  return { ...token, ...pinnedMetadata(services, caller, readMetadata(metadata)) };
}

// Pothos types a mutation's builder by its root; only its argument builder is used here.
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
        description: "The request, signed and stored; its transaction is sent until it is mined. Null with `dryRun`.",
      }),
      plan: t.expose("plan", {
        type: planType(builder),
        nullable: true,
        description: "The expected result and cost of the request. Only with `dryRun`.",
      }),
      idempotencyKey: t.exposeString("idempotencyKey", {
        nullable: true,
        description: "The idempotency key of this request, given or derived. Null if there are user errors.",
      }),
      warnings: t.stringList({
        description: "Settings that are valid but possibly unintended, in English.",
        resolve: ({ warnings }) => [...(warnings ?? [])],
      }),
    }),
  );
}

function planType(builder: Builder) {
  return builder.objectRef<OperationPlan>("MintPlan").implement({
    description: "The expected result and cost of a request. Nothing was stored or spent.",
    fields: (t) => ({
      idempotencyKey: t.exposeString("idempotencyKey", {
        description: "The idempotency key to send with the request to get the planned result.",
      }),
      contract: t.field({
        type: "Address",
        description: "The address of the contract that would be called or deployed.",
        resolve: ({ contract }) => contract,
      }),
      tokenIds: t.field({
        type: ["TokenId"],
        description: "The ids of the request's tokens, including generated ones.",
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

/** The GraphQL names of members of contracts and tokens. */
const shortName = renamerOf("graphql", contractFields);

/** The payload of `mintBatch`: one result for each token. */
function batchType(builder: Builder) {
  const each = builder.objectRef<MintResult>("MintBatchResult").implement({
    description: "The outcome for one token of a list: its request, or why it is not minted.",
    fields: (t) => ({
      request: t.field({
        type: mintRequestType(builder),
        nullable: true,
        description: "The request that mints the token. Null if the token is not minted, and in a dry run.",
        resolve: ({ done }) => done?.request ?? null,
      }),
      userErrors: t.field({
        type: [userErrorType(builder)],
        description: "Why the token is not minted. Empty if it is minted.",
        resolve: ({ fault }) => errorsOf(fault),
      }),
    }),
  });
  return payloadType<{ results: readonly MintResult[] }>(builder, "MintBatchPayload", "`mintBatch`", (t) => ({
    requests: t.field({
      type: [mintRequestType(builder)],
      description:
        "The accepted requests, in the order of the tokens; a single one for an ERC-1155 contract. Empty in a dry run.",
      resolve: ({ results = [] }) => [
        ...new Map(results.flatMap(({ done }) => (done ? [[done.request.id, done.request]] : []))).values(),
      ],
    }),
    results: t.field({
      type: [each],
      description: "One result per token, in their order. Empty if the whole list was refused.",
      resolve: ({ results = [] }) => [...results],
    }),
    userErrors: t.field({
      type: [userErrorType(builder)],
      description:
        "The errors of the list and of its tokens. Unless the whole list was refused, tokens without an error are minted.",
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
