import type { Address } from "viem";
import type { Caller } from "../auth/caller.ts";
import { warnOfChecksums } from "../collections/check-deployment.ts";
import { type DeploymentPlan, deployCollection, planDeployment } from "../collections/deploy-collection.ts";
import type { DeployCollectionInput, Deployment, DeploymentMode } from "../collections/deployment-input.ts";
import {
  type PreparedDeployment,
  prepareDeployment,
  type ReportedDeployment,
  reportDeployment,
} from "../collections/prepare-deployment.ts";
import { withFieldNames } from "../collections/problems.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { type Builder, present, writtenInput } from "./builder.ts";
import { deploymentType } from "./deployments.ts";
import { costFields } from "./request-fields.ts";
import { payloadType, withUserErrors } from "./user-errors.ts";

/** What became of the request: one of the three, by mode and dry run. */
interface Outcome {
  deployment?: Deployment;
  plan?: DeploymentPlan;
  transaction?: PreparedDeployment;
  idempotencyKey?: string;
  warnings?: string[];
}

/** The launch of a collection: done by the service, planned, or handed to the creator's wallet. */
export function addDeployCollection(builder: Builder): void {
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
  const payload = payloadType<Outcome>(builder, "DeployCollectionPayload", (t) => ({
    deployment: t.expose("deployment", {
      type: deploymentType(builder),
      nullable: true,
      description: "Signed and stored: its transaction is sent until it is mined.",
    }),
    plan: t.expose("plan", {
      type: planType(builder),
      nullable: true,
      description: "With `dryRun`: what the deployment would do.",
    }),
    transaction: t.expose("transaction", {
      type: transactionType(builder),
      nullable: true,
      description: "With `mode: SIGN`: what the creator's wallet sends.",
    }),
    idempotencyKey: t.exposeString("idempotencyKey", { nullable: true }),
    warnings: t.stringList({
      description: "Legal, but probably not meant.",
      resolve: ({ warnings }) => warnings ?? [],
    }),
  }));
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
      resolve: async (_root, { input: given, ...how }, context, info) =>
        await withUserErrors(context.caller(), async (caller) => {
          const { owner, treasury, royaltiesAddress } = writtenInput(info, context);
          const misspelt = warnOfChecksums({ owner, treasury, royaltiesAddress });
          const run = async () => {
            const { owner: ownerAddress, treasury: treasuryAddress, ...more } = present(given);
            const { serviceAdmin: grantServiceAdmin, royaltiesBps, ...rest } = more;
            const outcome = await launch(
              context.services,
              caller,
              {
                ...rest,
                ...{ ownerAddress, treasuryAddress, grantServiceAdmin },
                royaltiesBps: royaltiesBps === undefined ? undefined : BigInt(royaltiesBps),
              },
              how,
            );
            return { ...outcome, warnings: [...outcome.warnings, ...misspelt] };
          };
          return await withFieldNames(run(), (field) => shortNames[field] ?? field);
        }),
    }),
  );
  addReportDeployment(builder);
}

/** Members that this API calls by a shorter name than the use case. */
const shortNames: Record<string, string> = {
  ownerAddress: "owner",
  treasuryAddress: "treasury",
  grantServiceAdmin: "serviceAdmin",
};

interface How {
  mode?: DeploymentMode | null | undefined;
  dryRun?: boolean | null | undefined;
  sender?: Address | null | undefined;
}

async function launch(
  services: Services,
  caller: Caller,
  request: DeployCollectionInput,
  how: How,
): Promise<Outcome & { warnings: string[] }> {
  if (how.mode === "SIGN") {
    if (how.dryRun)
      throw new ServiceError("value_error", "mode SIGN spends nothing of the service's: there is no dry run of it", {
        field: "dryRun",
      });
    const transaction = await prepareDeployment(services, caller, request, how.sender ?? undefined);
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
      ...costFields(t),
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

/** Which transaction of a creator's own wallet is the deployment of a request of mode SIGN. */
function addReportDeployment(builder: Builder): void {
  const payload = payloadType<ReportedDeployment>(builder, "ReportDeploymentPayload", (t) => ({
    collection: t.expose("address", {
      type: "Address",
      nullable: true,
      description: "Where the collection stands, or will when the transaction is mined.",
    }),
  }));
  builder.mutationField("reportDeployment", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description:
        "Names the transaction with which a wallet of the creator's deployed what `mode: SIGN` prepared. It decides, whoever else sent the same bytes; needed where the wallet is neither the owner nor the `sender` that was given.",
      args: {
        chain: t.arg({ type: "ChainName", required: true }),
        transactionHash: t.arg({ type: "Hex", required: true }),
      },
      resolve: async (_root, input, { services, caller }) =>
        await withUserErrors(caller(), (account) => reportDeployment(services, account, input)),
    }),
  );
}
