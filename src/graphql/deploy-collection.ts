import type { Address } from "viem";
import { warnOfChecksums } from "../collections/check-deployment.ts";
import { type DeploymentPlan, deployCollection, planDeployment } from "../collections/deploy-collection.ts";
import type { DeployCollectionInput, Deployment, DeploymentMode } from "../collections/deployment-input.ts";
import { type PreparedDeployment, prepareDeployment } from "../collections/prepare-deployment.ts";
import { withFieldNames } from "../collections/problems.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Builder, GraphQLContext } from "./builder.ts";
import type { DeploymentRef } from "./deployment-type.ts";
import { type UserError, userErrorType, withUserErrors } from "./user-errors.ts";
import { writtenInput } from "./written-input.ts";

/** What became of the request: one of the three, by mode and dry run. */
interface Outcome {
  deployment?: Deployment;
  plan?: DeploymentPlan;
  transaction?: PreparedDeployment;
  idempotencyKey?: string;
  warnings: string[];
}

/** The launch of a collection: done by the service, planned, or handed to the creator's wallet. */
export function addDeployCollection(builder: Builder, deployment: DeploymentRef): void {
  const input = builder.inputType("DeployCollectionInput", {
    description: "An ERC-721 collection to launch. Supply and prices cannot be changed later.",
    fields: (t) => ({
      chain: t.field({ type: "ChainName", required: true }),
      name: t.string({ required: true }),
      symbol: t.string({ required: true }),
      maxSupply: t.field({ type: "Uint256", required: true, description: "Up to 5000 with a free key." }),
      reservedSupply: t.field({
        type: "Uint256",
        description: "Part of the supply that only an admin mints; default 0.",
      }),
      tokensPerMint: t.field({ type: "Uint256", required: true, description: "Most tokens of one mint call." }),
      mintPriceWei: t.field({ type: "Wei", required: true }),
      presaleMintPriceWei: t.field({ type: "Wei", description: "Default: the mint price." }),
      owner: t.field({ type: "Address", required: true }),
      treasury: t.field({ type: "Address", required: true, description: "Where withdrawn fees go, for ever." }),
      publicMintStart: t.field({ type: "DateTime", required: true }),
      presaleMintStart: t.field({ type: "DateTime", description: "Absent: no presale." }),
      allowlist: t.field({ type: ["Address"], description: "Wallets of the presale; repeats are dropped." }),
      metadataUpdatable: t.boolean({ defaultValue: true }),
      baseUri: t.string({ description: "URI of the metadata directory; absent: revealed later." }),
      prerevealTokenUri: t.string({ description: "Metadata of every token until then." }),
      royaltiesBps: t.int({ defaultValue: 0, description: "500 is 5 %." }),
      royaltiesAddress: t.field({ type: "Address", description: "Default: the owner." }),
      serviceAdmin: t.boolean({
        defaultValue: true,
        description: "Make the service's wallet an admin, so that it can reveal and update the collection.",
      }),
      idempotencyKey: t.string({
        description:
          "Requests with one key are one deployment, for ever. Without a key equal requests within minutes are.",
      }),
    }),
  });
  const payload = builder
    .objectRef<{ result: Outcome | null; userErrors: readonly UserError[] }>("DeployCollectionPayload")
    .implement({
      fields: (t) => ({
        deployment: t.field({
          type: deployment,
          nullable: true,
          description: "Signed and stored: its transaction is sent until it is mined.",
          resolve: ({ result }) => result?.deployment ?? null,
        }),
        plan: t.field({
          type: planType(builder),
          nullable: true,
          description: "With `dryRun`: what the deployment would do.",
          resolve: ({ result }) => result?.plan ?? null,
        }),
        transaction: t.field({
          type: transactionType(builder),
          nullable: true,
          description: "With `mode: SIGN`: what the creator's wallet sends.",
          resolve: ({ result }) => result?.transaction ?? null,
        }),
        idempotencyKey: t.string({ nullable: true, resolve: ({ result }) => result?.idempotencyKey ?? null }),
        warnings: t.stringList({
          description: "Legal, but probably not meant.",
          resolve: ({ result }) => result?.warnings ?? [],
        }),
        userErrors: t.field({ type: [userErrorType(builder)], resolve: ({ userErrors }) => [...userErrors] }),
      }),
    });
  const mode = builder.enumType("DeployMode", {
    values: {
      RELAY: { description: "The service deploys and pays; a cheap clone, which it can update." },
      SIGN: { description: "A wallet of the creator's deploys and pays; a standalone contract." },
    } satisfies Record<DeploymentMode, { description: string }>,
  });
  builder.mutationField("deployCollection", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description:
        "Deploys a collection. Answers when its transaction is signed and stored, before it is mined. With `mode: SIGN` the transaction comes back for a wallet, and the collection is detected when it stands.",
      args: {
        input: t.arg({ type: input, required: true }),
        mode: t.arg({ type: mode, defaultValue: "RELAY" }),
        dryRun: t.arg.boolean({
          defaultValue: false,
          description: "Check everything, simulate, and say what it would cost; nothing is stored or spent.",
        }),
        sender: t.arg({
          type: "Address",
          description:
            "For `mode: SIGN`: the wallet that will send it, to know the address and the gas, and to detect its transaction. The owner's is detected anyway; of any other wallet use `reportDeployment`.",
        }),
      },
      resolve: async (_root, { input: given, ...how }, context, info) => {
        const { owner, treasury, royaltiesAddress } = writtenInput(info, context);
        const misspelt = warnOfChecksums({ owner, treasury, royaltiesAddress });
        const run = async (): Promise<Outcome> => {
          const outcome = await launch(context, requestOf(given), how);
          return { ...outcome, warnings: [...outcome.warnings, ...misspelt] };
        };
        return await withUserErrors(() => withFieldNames(run(), (field) => shortNames[field] ?? field));
      },
    }),
  );
}

interface How {
  mode?: DeploymentMode | null | undefined;
  dryRun?: boolean | null | undefined;
  sender?: string | null | undefined;
}

async function launch(context: GraphQLContext, request: DeployCollectionInput, how: How): Promise<Outcome> {
  const { services } = context;
  const caller = await context.caller();
  if (how.mode === "SIGN") {
    if (how.dryRun)
      throw new ServiceError("value_error", "mode SIGN spends nothing of the service's: there is no dry run of it", {
        field: "dryRun",
      });
    const transaction = await prepareDeployment(services, caller, request, (how.sender ?? undefined) as Address);
    return { transaction, warnings: transaction.warnings };
  }
  if (how.dryRun) {
    const plan = await planDeployment(services, caller, request);
    return { plan, idempotencyKey: plan.idempotencyKey, warnings: plan.warnings };
  }
  return await deployCollection(services, caller, request);
}

function planType(builder: Builder) {
  return builder.objectRef<DeploymentPlan>("DeploymentPlan").implement({
    description: "What a deployment would do.",
    fields: (t) => ({
      predictedAddress: t.field({
        type: "Address",
        description: "Where the collection will be if this request is sent with this `idempotencyKey`.",
        resolve: (plan) => plan.predictedAddress,
      }),
      idempotencyKey: t.exposeString("idempotencyKey"),
      gas: t.field({ type: "Uint256", resolve: (plan) => plan.gas }),
      maxFeePerGasWei: t.field({ type: "Wei", resolve: (plan) => plan.maxFeePerGasWei }),
      costWei: t.field({ type: "Wei", description: "At the fees of now.", resolve: (plan) => plan.costWei }),
      maxCostWei: t.field({ type: "Wei", description: "At most.", resolve: (plan) => plan.maxCostWei }),
    }),
  });
}

function transactionType(builder: Builder) {
  return builder.objectRef<PreparedDeployment>("DeploymentTransaction").implement({
    description: "A transaction that creates the collection, for `eth_sendTransaction` of any wallet.",
    fields: (t) => ({
      chainId: t.int({ resolve: ({ chain }) => chain.id }),
      to: t.field({ type: "Address", nullable: true, description: "Null: a creation.", resolve: ({ to }) => to }),
      data: t.field({ type: "Hex", resolve: ({ data }) => data }),
      valueWei: t.field({ type: "Wei", resolve: ({ valueWei }) => valueWei }),
      gas: t.field({ type: "Uint256", nullable: true, resolve: ({ gas }) => gas }),
      expectedAddress: t.field({
        type: "Address",
        nullable: true,
        description: "Where the collection will be if this is the sender's next transaction.",
        resolve: ({ expectedAddress }) => expectedAddress,
      }),
      expiresAt: t.expose("expiresAt", { type: "DateTime" }),
    }),
  });
}

interface GivenInput {
  chain: string;
  name: string;
  symbol: string;
  maxSupply: bigint;
  tokensPerMint: bigint;
  mintPriceWei: bigint;
  owner: string;
  treasury: string;
  publicMintStart: Date;
  reservedSupply?: bigint | null | undefined;
  presaleMintPriceWei?: bigint | null | undefined;
  presaleMintStart?: Date | null | undefined;
  allowlist?: string[] | null | undefined;
  metadataUpdatable?: boolean | null | undefined;
  baseUri?: string | null | undefined;
  prerevealTokenUri?: string | null | undefined;
  royaltiesBps?: number | null | undefined;
  royaltiesAddress?: string | null | undefined;
  serviceAdmin?: boolean | null | undefined;
  idempotencyKey?: string | null | undefined;
}

function requestOf(given: GivenInput): DeployCollectionInput {
  const { owner, treasury, serviceAdmin, royaltiesBps, ...rest } = given;
  const sent = Object.fromEntries(Object.entries(rest).filter(([, value]) => value != null)) as {
    [K in keyof typeof rest]: NonNullable<(typeof rest)[K]>;
  };
  return {
    ...sent,
    ownerAddress: owner,
    treasuryAddress: treasury,
    grantServiceAdmin: serviceAdmin ?? undefined,
    royaltiesBps: royaltiesBps == null ? undefined : BigInt(royaltiesBps),
  };
}

/** Members that this API calls by a shorter name than the use case. */
const shortNames: Record<string, string> = {
  ownerAddress: "owner",
  treasuryAddress: "treasury",
  grantServiceAdmin: "serviceAdmin",
};
