import type { Kysely } from "kysely";
import type { Address, Hash } from "viem";
import type { Caller } from "../auth/caller.ts";
import type { Chain } from "../chains.ts";
import { toAddress, toBytes, toHash } from "../db/bytes.ts";
import type { Database } from "../db/database.ts";
import type { IntentState } from "../db/tables/relay.ts";
import { ServiceError } from "../errors/errors.ts";
import { batched } from "../relay/store/batch.ts";
import { undecidedStates } from "../relay/store/lifecycle.ts";
import { shownHash } from "../relay/store/nonces.ts";
import type { Services } from "../services.ts";
import type { DeploymentPayload } from "./deployment-payload.ts";

/** How far a deployment is. */
export type DeploymentState = IntentState;

export interface Deployment {
  id: string;
  chain: Chain;
  state: DeploymentState;
  /** Why it does not go on at the moment. */
  holdReason: string | null;
  request: DeploymentPayload;
  /** Hash of the transaction that made the collection or was mined, else of the newest signed one; null before the signature. */
  transactionHash: Hash | null;
  /** Where the collection will be. Nothing is there yet, and nothing may be sent there. */
  predictedAddress: Address;
  /** Where the collection is; null until the deployment is confirmed, and again after a deep reorganisation. */
  collection: Address | null;
  block: bigint | null;
  createdAt: Date;
  updatedAt: Date;
}

export type DeploymentKey = { id: string } | { chain: Chain; collection: Address };

export function isUuid(text: string): boolean {
  return uuid.test(text);
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Whether a client still waits for an outcome: it is neither confirmed nor ended. */
export function isUndecided(state: DeploymentState): boolean {
  return (undecidedStates as readonly DeploymentState[]).includes(state);
}

/** The states in which a collection's address is an answer and not a promise. */
export const confirmedStates: readonly IntentState[] = ["confirmed", "finalized"];

/**
 * One deployment of the caller's account; by the id of an earlier try too, and then the newest one.
 *
 * @throws ServiceError `not_found`, also for somebody else's.
 */
export async function getDeployment(services: Services, caller: Caller, key: DeploymentKey): Promise<Deployment> {
  if ("id" in key && !uuid.test(key.id)) throw notFound();
  const base = selectDeployments(services.db).where("i.tenant_id", "=", caller.accountId);
  const row = await ("id" in key
    ? base
        .where("i.root_id", "=", (eb) => eb.selectFrom("service.intent").select("root_id").where("id", "=", key.id))
        .orderBy("i.retry_number", "desc")
        .limit(1)
    : base
        .where("i.chain_id", "=", key.chain.id)
        .where("i.predicted_addr", "=", toBytes(key.collection))
        .where("i.state", "in", confirmedStates)
  ).executeTakeFirst();
  if (!row) throw notFound();
  return toDeployment(services, row);
}

/** The same for one that was made a moment ago, by its own id; requests that come together look together. */
export async function getFreshDeployment(services: Services, caller: Caller, id: string): Promise<Deployment> {
  const row = await readTogether(services, caller.accountId, { tenantId: caller.accountId, id });
  return row ? toDeployment(services, row) : await getDeployment(services, caller, { id });
}

const readTogether = batched(
  async (services: Services, wanted: readonly { tenantId: string; id: string }[]) => {
    const rows = await selectDeployments(services.db)
      .where("i.tenant_id", "in", [...new Set(wanted.map(({ tenantId }) => tenantId))])
      .where(
        "i.id",
        "in",
        wanted.map(({ id }) => id),
      )
      // One that goes on as a retry is answered by that.
      .where("i.state", "<>", "retried")
      .execute();
    const byId = new Map(rows.map((row) => [row.id, row] as const));
    return wanted.map(({ id }) => byId.get(id));
  },
  { most: 32, retryIndividually: false },
);

function notFound(): ServiceError {
  return new ServiceError("not_found", "no such deployment of this account");
}

/** Deployments with their place in the wallet's queue and the one hash to show. */
export function selectDeployments(db: Kysely<Database>) {
  return db
    .selectFrom("service.intent as i")
    .leftJoin("service.nonce_reservation as s", "s.intent_id", "i.id")
    .where("i.kind", "=", "deploy")
    .select([
      "i.id",
      "i.chain_id",
      "i.state",
      "i.hold_reason",
      "i.payload",
      "i.predicted_addr",
      "i.created_at",
      "i.updated_at",
      "s.mined_block",
      "i.found_tx",
      "i.found_block",
      shownHash.as("hash"),
    ]);
}

export type DeploymentRow = Awaited<ReturnType<ReturnType<typeof selectDeployments>["executeTakeFirstOrThrow"]>>;

export function toDeployment(services: Services, row: DeploymentRow): Deployment {
  const chain = services.chains.find((candidate) => candidate.id === row.chain_id);
  if (!chain) {
    throw new ServiceError(
      "chain_not_supported",
      `the chain of this deployment (${row.chain_id}) is not served any more`,
    );
  }
  const predictedAddress = toAddress(row.predicted_addr);
  const hash = row.found_tx ?? row.hash;
  return {
    id: row.id,
    chain,
    state: row.state,
    holdReason: row.hold_reason,
    request: row.payload as DeploymentPayload,
    transactionHash: hash && toHash(hash),
    predictedAddress,
    collection: confirmedStates.includes(row.state) ? predictedAddress : null,
    block: row.found_tx ? row.found_block : row.mined_block,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
