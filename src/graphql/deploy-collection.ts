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
import { type Builder, chainArg, present, sharedDescriptions, writtenInput } from "./builder.ts";
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
      chain: t.field(chainArg),
      name: t.string({ required: true, description: "The name of the collection." }),
      symbol: t.string({ required: true, description: "The symbol of the collection, such as KEY." }),
      maxSupply: t.field({
        type: "Uint256",
        required: true,
        description:
          "How many tokens there can ever be: 1 to 4294967295, or what your plan allows (5000 on a free one).",
      }),
      reservedSupply: t.field({
        type: "Uint256",
        description: "How many tokens of the supply only an admin can mint, free of charge; 0 by default.",
      }),
      tokensPerMint: t.field({
        type: "Uint256",
        required: true,
        description: "The most tokens of one mint call: 1 to `maxSupply`.",
      }),
      mintPriceWei: t.field({
        type: "Wei",
        required: true,
        description: "The price of a token in the public sale, in wei of the chain's native token; 0 is a free mint.",
      }),
      presaleMintPriceWei: t.field({
        type: "Wei",
        description: "The price of a token in the presale, in wei; `mintPriceWei` by default.",
      }),
      owner: t.field({ type: "Address", required: true, description: "The wallet that will own the contract." }),
      treasury: t.field({
        type: "Address",
        required: true,
        description: "The address that gets withdrawn mint fees, for ever; it has to take payments.",
      }),
      publicMintStart: t.field({
        type: "DateTime",
        required: true,
        description: "The public sale is open in blocks after this time.",
      }),
      presaleMintStart: t.field({
        type: "DateTime",
        description: "The presale is open in blocks after this time; absent: no presale.",
      }),
      allowlist: t.field({
        type: ["Address"],
        description: "The wallets of the presale, up to 100,000, each with one mint call; repeats are dropped.",
      }),
      metadataUpdatable: t.boolean({
        defaultValue: true,
        description: "Whether the collection can be updated later; false freezes it now, and needs a `baseUri`.",
      }),
      baseUri: t.string({
        description:
          "The URI of the metadata directory, with a slash at its end: ipfs://…/. Token ids are put behind it. Absent: revealed later.",
      }),
      prerevealTokenUri: t.string({
        description: "The metadata URI of every token until the reveal, such as ipfs://….",
      }),
      royaltiesBps: t.int({ defaultValue: 0, description: sharedDescriptions.royaltiesBps }),
      royaltiesAddress: t.field({
        type: "Address",
        description: "The address that gets royalties; the owner by default.",
      }),
      serviceAdmin: t.boolean({
        defaultValue: true,
        description: "Make the service's wallet an admin, so that it can reveal and update the collection.",
      }),
      idempotencyKey: t.string({ description: sharedDescriptions.idempotencyKey }),
    }),
  });
  const payload = payloadType<Outcome>(builder, "DeployCollectionPayload", "`deployCollection`", (t) => ({
    deployment: t.expose("deployment", {
      type: deploymentType(builder),
      nullable: true,
      description:
        "The deployment, signed and stored: its transaction is sent until it is mined. Null with `dryRun` and `mode: SIGN`.",
    }),
    plan: t.expose("plan", {
      type: planType(builder),
      nullable: true,
      description: "What the deployment would do and cost; only with `dryRun`.",
    }),
    transaction: t.expose("transaction", {
      type: transactionType(builder),
      nullable: true,
      description: "The transaction for the creator's own wallet; only with `mode: SIGN`.",
    }),
    idempotencyKey: t.exposeString("idempotencyKey", {
      nullable: true,
      description: "The key of this request, yours or a derived one; null with `mode: SIGN` and user errors.",
    }),
    warnings: t.stringList({
      description: "What is legal in the request, but probably not meant, in English.",
      resolve: ({ warnings }) => warnings ?? [],
    }),
  }));
  const mode = builder.enumType("DeployMode", {
    description: "Who deploys a collection and pays for it.",
    values: {
      RELAY: { description: "The service deploys and pays: a cheap clone (ERC-1167), which the service can update." },
      SIGN: {
        description:
          "A wallet of the creator's deploys and pays: a standalone contract, which the service cannot update.",
      },
    } satisfies Record<DeploymentMode, { description: string }>,
  });
  builder.mutationField("deployCollection", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description:
        "Deploys a collection. Answers when its transaction is signed and stored, before it is mined. With `mode: SIGN` the transaction comes back for a wallet, and the collection is detected when it stands.",
      args: {
        input: t.arg({ type: input, required: true, description: "The collection to deploy." }),
        mode: t.arg({
          type: mode,
          defaultValue: "RELAY",
          description: "Who deploys it and pays: the service (RELAY) or a wallet of yours (SIGN).",
        }),
        dryRun: t.arg.boolean({ defaultValue: false, description: sharedDescriptions.dryRun }),
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
    description: "What a deployment would do and cost; nothing of it was stored or spent.",
    fields: (t) => ({
      predictedAddress: t.field({
        type: "Address",
        description: "The address that the collection will have if this request is sent with this `idempotencyKey`.",
        resolve: (plan) => plan.predictedAddress,
      }),
      idempotencyKey: t.exposeString("idempotencyKey", {
        description: "The key to send the request with, so that it does what is planned.",
      }),
      ...costFields(t),
    }),
  });
}

function transactionType(builder: Builder) {
  return builder.objectRef<PreparedDeployment>("DeploymentTransaction").implement({
    description: "A transaction that creates the collection, for `eth_sendTransaction` of any wallet.",
    fields: (t) => ({
      chainId: t.int({
        description: "The id of the chain by EIP-155; the wallet has to be on that chain.",
        resolve: ({ chain }) => chain.id,
      }),
      to: t.field({
        type: "Address",
        nullable: true,
        description: "The receiver; always null, because the transaction creates a contract.",
        resolve: ({ to }) => to,
      }),
      data: t.field({
        type: "Hex",
        description: "The code of the contract with its settings; send it unchanged.",
        resolve: ({ data }) => data,
      }),
      valueWei: t.field({
        type: "Wei",
        description: "The amount to send, in wei: 0.",
        resolve: ({ valueWei }) => valueWei,
      }),
      gas: t.field({
        type: "Uint256",
        nullable: true,
        description: "An estimate of the gas with some room; null where the node gave none.",
        resolve: ({ gas }) => gas,
      }),
      expectedAddress: t.field({
        type: "Address",
        nullable: true,
        description:
          "The address that the collection will have if this is the next transaction of `sender`; null without one.",
        resolve: ({ expectedAddress }) => expectedAddress,
      }),
      expiresAt: t.expose("expiresAt", {
        type: "DateTime",
        description: "The service watches the chain for the transaction until this time.",
      }),
    }),
  });
}

/** Which transaction of a creator's own wallet is the deployment of a request of mode SIGN. */
function addReportDeployment(builder: Builder): void {
  const payload = payloadType<ReportedDeployment>(builder, "ReportDeploymentPayload", "`reportDeployment`", (t) => ({
    collection: t.expose("address", {
      type: "Address",
      nullable: true,
      description: "The address of the collection, which it has once the transaction is mined.",
    }),
  }));
  builder.mutationField("reportDeployment", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description:
        "Names the transaction with which a wallet of the creator's deployed what `mode: SIGN` prepared. Only this transaction counts, also where others sent the same bytes; needed where the wallet is neither the owner nor the `sender` that was given.",
      args: {
        chain: t.arg(chainArg),
        transactionHash: t.arg({
          type: "Hex",
          required: true,
          description: "The hash of the transaction, which a node has to know.",
        }),
      },
      resolve: async (_root, input, { services, caller }) =>
        await withUserErrors(caller(), (account) => reportDeployment(services, account, input)),
    }),
  );
}
