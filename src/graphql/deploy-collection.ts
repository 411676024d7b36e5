import type { Address } from "viem";
import type { Caller } from "../auth/caller.ts";
import { warnOfChecksums } from "../collections/check-deployment.ts";
import { type DeploymentPlan, deployCollection, planDeployment } from "../collections/deploy-collection.ts";
import {
  type DeployCollectionInput,
  type Deployment,
  type DeploymentMode,
  deployFields,
} from "../collections/deployment-input.ts";
import {
  type PreparedDeployment,
  prepareDeployment,
  type ReportedDeployment,
  reportDeployment,
} from "../collections/prepare-deployment.ts";
import { withFieldNames } from "../collections/problems.ts";
import { ServiceError } from "../errors/errors.ts";
import { renamerOf } from "../requests/fields.ts";
import type { Services } from "../services.ts";
import { type Builder, chainArg, sharedDescriptions, writtenInput } from "./builder.ts";
import { deploymentType } from "./deployments.ts";
import { inputTypeOf, readInput } from "./inputs.ts";
import { costFields } from "./request-fields.ts";
import { payloadType, withUserErrors } from "./user-errors.ts";

/** The result of the request: exactly one of the three, depending on mode and dry run. */
interface Outcome {
  deployment?: Deployment;
  plan?: DeploymentPlan;
  transaction?: PreparedDeployment;
  idempotencyKey?: string;
  warnings?: string[];
}

/** Deploying a collection: sent by the service, planned (dry run), or left to the creator's wallet (mode SIGN). */
export function addDeployCollection(builder: Builder): void {
  const input = inputTypeOf(
    builder,
    "DeployCollectionInput",
    "An ERC-721 collection to launch. Supply and prices cannot be changed later.",
    deployFields,
  );
  const payload = payloadType<Outcome>(builder, "DeployCollectionPayload", "`deployCollection`", (t) => ({
    deployment: t.expose("deployment", {
      type: deploymentType(builder),
      nullable: true,
      description:
        "The deployment, signed and stored; its transaction is sent until it is mined. Null with `dryRun` and with `mode: SIGN`.",
    }),
    plan: t.expose("plan", {
      type: planType(builder),
      nullable: true,
      description: "The expected result and cost of the deployment. Only with `dryRun`.",
    }),
    transaction: t.expose("transaction", {
      type: transactionType(builder),
      nullable: true,
      description: "The transaction for the creator's own wallet. Only with `mode: SIGN`.",
    }),
    idempotencyKey: t.exposeString("idempotencyKey", {
      nullable: true,
      description:
        "The idempotency key of this request, given or derived. Null with `mode: SIGN` and if there are user errors.",
    }),
    warnings: t.stringList({
      description: "Settings that are valid but possibly unintended, in English.",
      resolve: ({ warnings }) => warnings ?? [],
    }),
  }));
  const mode = builder.enumType("DeployMode", {
    description: "Who deploys a collection and pays for it.",
    values: {
      RELAY: { description: "The service deploys and pays: a cheap clone (ERC-1167), which the service can update." },
      SIGN: {
        description:
          "The creator's own wallet deploys and pays: a standalone contract, which the service cannot update.",
      },
    } satisfies Record<DeploymentMode, { description: string }>,
  });
  builder.mutationField("deployCollection", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description:
        "Deploys a collection. Returns once the transaction is signed and stored, before it is mined. With `mode: SIGN`, returns the transaction for a wallet to send, and detects the collection once it is deployed.",
      args: {
        input: t.arg({ type: input, required: true, description: "The collection to deploy." }),
        mode: t.arg({
          type: mode,
          defaultValue: "RELAY",
          description: "Who deploys it and pays: the service (RELAY) or your own wallet (SIGN).",
        }),
        dryRun: t.arg.boolean({ defaultValue: false, description: sharedDescriptions.dryRun }),
        sender: t.arg({
          type: "Address",
          description:
            "With `mode: SIGN`: the wallet that will send the transaction. The service uses it to compute the address and the gas, and to detect the transaction. The owner's transaction is always detected; for any other wallet use `reportDeployment`.",
        }),
      },
      resolve: async (_root, { input: given, ...how }, context, info) =>
        await withUserErrors(context.caller(), async (caller) => {
          const { owner, treasury, royaltiesAddress } = writtenInput(info, context);
          const misspelt = warnOfChecksums({ owner, treasury, royaltiesAddress });
          const run = async () => {
            const outcome = await launch(context.services, caller, readInput(deployFields, given), how);
            return { ...outcome, warnings: [...outcome.warnings, ...misspelt] };
          };
          return await withFieldNames(run(), renamerOf("graphql", deployFields));
        }),
    }),
  );
  addReportDeployment(builder);
}

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
    description: "The expected result and cost of a deployment. Nothing was stored or spent.",
    fields: (t) => ({
      predictedAddress: t.field({
        type: "Address",
        description: "The address that the collection will have if this request is sent with this `idempotencyKey`.",
        resolve: (plan) => plan.predictedAddress,
      }),
      idempotencyKey: t.exposeString("idempotencyKey", {
        description: "The idempotency key to send with the request to get the planned result.",
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
        description: "The chain id (EIP-155). The wallet must be on that chain.",
        resolve: ({ chain }) => chain.id,
      }),
      to: t.field({
        type: "Address",
        nullable: true,
        description: "The recipient. Always null, because the transaction creates a contract.",
        resolve: ({ to }) => to,
      }),
      data: t.field({
        type: "Hex",
        description: "The contract's code with its settings. Send it unchanged.",
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
        description: "The estimated gas with a margin. Null if the node gave no estimate.",
        resolve: ({ gas }) => gas,
      }),
      expectedAddress: t.field({
        type: "Address",
        nullable: true,
        description:
          "The address that the collection will have if this is the next transaction of `sender`. Null without a `sender`.",
        resolve: ({ expectedAddress }) => expectedAddress,
      }),
      expiresAt: t.expose("expiresAt", {
        type: "DateTime",
        description: "The service watches the chain for the transaction until this time.",
      }),
    }),
  });
}

/** Reports which transaction of the creator's own wallet deployed the collection of a mode-SIGN request. */
function addReportDeployment(builder: Builder): void {
  const payload = payloadType<ReportedDeployment>(builder, "ReportDeploymentPayload", "`reportDeployment`", (t) => ({
    collection: t.expose("address", {
      type: "Address",
      nullable: true,
      description: "The address that the collection has once the transaction is mined.",
    }),
  }));
  builder.mutationField("reportDeployment", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description:
        "Reports the transaction by which the creator's wallet deployed a collection prepared with `mode: SIGN`. Required if the wallet is neither the owner nor the given `sender`. Only this transaction counts, even if others sent the same bytes.",
      args: {
        chain: t.arg(chainArg),
        transactionHash: t.arg({
          type: "Hex",
          required: true,
          description: "The hash of the transaction. A node must know it.",
        }),
      },
      resolve: async (_root, input, { services, caller }) =>
        await withUserErrors(caller(), (account) => reportDeployment(services, account, input)),
    }),
  );
}
