import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs } from "../../src/backoff.ts";
import { CommandError } from "../command-error.ts";
import { RefusedError, type ServiceClient } from "../service-client.ts";
import { type DeployInput, type Journal, lastStep, type Step } from "./journal.ts";
import type { Reporter } from "./reporter.ts";
import { amountOf } from "./wei.ts";

export interface Parts {
  client: ServiceClient;
  journal: Journal;
  reporter: Reporter;
}

export interface Plan {
  gas: string;
  costWei: string;
  maxCostWei: string;
  predictedAddress: string;
}

const planMutation = `mutation ($input: DeployCollectionInput!) {
  deployCollection(input: $input, dryRun: true) {
    plan { gas costWei maxCostWei predictedAddress } warnings userErrors { code field message }
  }
}`;
const deployMutation = `mutation ($input: DeployCollectionInput!) {
  deployCollection(input: $input) { deployment { id transactionHash predictedAddress } userErrors { code field message } }
}`;
const existingQuery = `query ($chain: ChainName!, $collection: Address!) {
  deployment(chain: $chain, collection: $collection) { id transactionHash predictedAddress }
}`;

interface Sent {
  id: string;
  transactionHash: string | null;
  predictedAddress: string;
}

/** Checks and simulates the request; nothing is stored or paid. @throws RefusedError with every fault. */
export async function planDeployment({ client, reporter }: Parts, input: DeployInput): Promise<Plan> {
  const { deployCollection } = await client.graphql<{ deployCollection: { plan: Plan; warnings: string[] } }>(
    planMutation,
    { input },
  );
  const { plan, warnings } = deployCollection;
  for (const warning of warnings) reporter.warn(warning);
  const cost = `about ${amountOf(plan.costWei)}, at most ${amountOf(plan.maxCostWei)}`;
  reporter.step("dry_run", `dry run: ${plan.gas} gas, ${cost}; the address will be ${plan.predictedAddress}`, {
    ...plan,
  });
  return plan;
}

/** Requests that made no collection and never will. */
const over = (steps: readonly Step[]) =>
  steps.filter((step) => step.step === "deploy_refused" || step.step === "deploy_ended");

/** The key of the next deployment request: the same in every process that launches this folder. */
export function nextDeploymentKey({ steps }: Pick<Journal, "steps">): string {
  return `launch-${lastStep(steps, "begun")?.id}-${over(steps).length + 1}`;
}

/** The request that may have been paid for or may still be: it is on record, and nothing shows that it failed. */
export function openIntent({ steps }: Pick<Journal, "steps">) {
  const intent = lastStep(steps, "deploy_intent");
  const isOver = over(steps).some((step) => step.idempotencyKey === intent?.input.idempotencyKey);
  return isOver ? undefined : intent;
}

/** The service's answer to the open request; undefined before it has answered. */
export function openDeployment({ steps }: Pick<Journal, "steps">) {
  if (!openIntent({ steps })) return undefined;
  return lastStep(steps.slice(steps.findLastIndex(({ step }) => step === "deploy_intent")), "deployment");
}

/**
 * Sends the recorded request. Its key makes it one deployment, however often it is sent.
 *
 * @throws CommandError when the service refused it and nothing was paid.
 */
export async function sendDeployment({ client, journal, reporter }: Parts, input: DeployInput, predicted: string) {
  try {
    const { deployCollection } = await client.graphql<{ deployCollection: { deployment: Sent } }>(deployMutation, {
      input,
    });
    record(deployCollection.deployment);
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    // An earlier try of the same request may have been accepted, whatever the answer to this one.
    const existing = await findDeployment(client, input.chain, predicted);
    if (existing) return record(existing);
    journal.writeSynced({ step: "deploy_refused", idempotencyKey: input.idempotencyKey, reason: error.message });
    throw new CommandError(`the service refused the deployment; nothing was paid\n  ${error.message}`);
  }

  function record({ id, transactionHash, predictedAddress }: Sent): void {
    journal.writeSynced({ step: "deployment", id, transactionHash, predictedAddress });
    reporter.step("sent", `deployment ${id} is signed and stored (${transactionHash ?? "no hash yet"})`, {
      id,
      transactionHash,
    });
  }
}

async function findDeployment(client: ServiceClient, chain: string, collection: string): Promise<Sent | null> {
  try {
    const { deployment } = await client.graphql<{ deployment: Sent | null }>(existingQuery, { chain, collection });
    return deployment;
  } catch (error) {
    if (error instanceof RefusedError && error.code === "not_found") return null;
    throw error;
  }
}

const pauses = { firstMs: 200, mostMs: 5_000, factor: 1.5 };
const ended = new Set(["CANCELLED", "EXPIRED", "FAILED_ONCHAIN"]);

interface Following {
  state: string;
  progress: string | null;
  holdReason: string | null;
  transactionHash: string | null;
  transactionUrl: string | null;
  predictedAddress?: string;
}

/** A request that failed for good. */
export class EndedError extends CommandError {
  readonly id: string;
  readonly state: string;

  constructor(id: string, state: string, reason: string | null) {
    super(`${id} ended as ${state.toLowerCase()}${reason ? `: ${reason}` : ""}`);
    this.id = id;
    this.state = state;
  }
}

/**
 * Follows a deployment or an update until it is confirmed, and reports each new state.
 *
 * @throws EndedError when it failed for good.
 */
export async function untilConfirmed(
  { client, reporter }: Omit<Parts, "journal">,
  kind: "deployment" | "collectionUpdate",
  id: string,
): Promise<Following> {
  let shown = "";
  for (let polled = 1; ; polled += 1) {
    const found = await readState(client, kind, id);
    const { state, progress, holdReason } = found;
    if (state === "CONFIRMED" || state === "FINALIZED") return found;
    const text = `${state.toLowerCase().replaceAll("_", " ")}${progress ? `, ${progress}` : ""}${holdReason ? `: ${holdReason}` : ""}`;
    if (text !== shown) reporter.step("state", text, { id, state, progress, holdReason });
    shown = text;
    await sleep(backoffMs(polled, pauses));
  }
}

/** @throws EndedError when it failed for good. */
async function readState(
  client: ServiceClient,
  kind: "deployment" | "collectionUpdate",
  id: string,
): Promise<Following> {
  const [open, close] = kind === "collectionUpdate" ? ["viewer {", "}"] : ["", ""];
  const query = `query ($id: ID!) {
    ${open} ${kind}(id: $id) { state progress holdReason transactionHash transactionUrl ${kind === "deployment" ? "predictedAddress" : ""} } ${close}
  }`;
  const data = await client.graphql<Record<string, Following | null> & { viewer?: Record<string, Following | null> }>(
    query,
    { id },
  );
  const found = kind === "deployment" ? data[kind] : data.viewer?.[kind];
  if (!found) throw new CommandError(`the service does not know ${kind} ${id}`);
  const { state, holdReason, transactionUrl, transactionHash } = found;
  if (ended.has(state)) throw new EndedError(id, state, holdReason ?? transactionUrl ?? transactionHash);
  return found;
}

/** Records that the request of an earlier run has failed since, so that the next one is a new request. */
export async function noteEnded({ client, journal, reporter }: Parts): Promise<void> {
  const sent = openDeployment(journal);
  if (!sent || journal.last("deployed")) return;
  try {
    await readState(client, "deployment", sent.id);
  } catch (error) {
    if (!(error instanceof EndedError)) throw error;
    recordEnded(journal, error);
    reporter.warn(`${error.message}; it made no collection`);
  }
}

/**
 * Follows the open request to its collection.
 *
 * @throws CommandError when the request failed for good; the journal records that.
 */
export async function followDeployment(parts: Parts): Promise<Following> {
  try {
    return await untilConfirmed(parts, "deployment", openDeployment(parts.journal)?.id ?? "");
  } catch (error) {
    if (!(error instanceof EndedError)) throw error;
    recordEnded(parts.journal, error);
    throw new CommandError(
      `${error.message}; it made no collection\n  repeat the command to begin a new deployment: what was uploaded stays`,
    );
  }
}

function recordEnded(journal: Journal, { id, state }: EndedError): void {
  const idempotencyKey = openIntent(journal)?.input.idempotencyKey ?? "";
  journal.writeSynced({ step: "deploy_ended", at: new Date().toISOString(), idempotencyKey, id, state });
}
