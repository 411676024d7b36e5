import { setTimeout as sleep } from "node:timers/promises";
import type { Hex } from "viem";
import type { Caller } from "../auth/caller.ts";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors.ts";
import { broadcast } from "../relay/broadcast.ts";
import { getIntent, type Intent } from "../relay/intents.ts";
import { loggable } from "../relay/node-failure.ts";
import type { Preflight } from "../relay/preflight.ts";
import { type Submission, submitIntent } from "../relay/submit-intent.ts";
import type { Services } from "../services.ts";
import { acceptDeployment } from "./accept-deployment.ts";
import { checkDeployment } from "./check-deployment.ts";
import { checkTreasury } from "./check-treasury.ts";
import { type Deployment, getDeployment } from "./get-deployment.ts";

/** Addresses are `0x` and 40 hex digits in any case; they are answered as they were sent. */
export interface DeployCollectionInput {
  /** As sent, aliases allowed. */
  chain: string;
  name: string;
  symbol: string;
  maxSupply: bigint;
  /** Part of the supply that only an admin mints; default 0. */
  reservedSupply?: bigint | undefined;
  tokensPerMint: bigint;
  mintPriceWei: bigint;
  /** Default: the mint price. */
  presaleMintPriceWei?: bigint | undefined;
  ownerAddress: string;
  treasuryAddress: string;
  publicMintStart: Date;
  /** Absent: no presale. */
  presaleMintStart?: Date | undefined;
  allowlist?: readonly string[] | undefined;
  /** Default true. */
  metadataUpdatable?: boolean | undefined;
  /** Empty or absent: not revealed yet. */
  baseUri?: string | undefined;
  prerevealTokenUri?: string | undefined;
  /** Default 0. */
  royaltiesBps?: bigint | undefined;
  /** Default: the owner. */
  royaltiesAddress?: string | undefined;
  /** The service's wallet becomes an admin of the collection, for reveals and updates. Default true. */
  grantServiceAdmin?: boolean | undefined;
  /** Requests with one key are one deployment, for ever. */
  idempotencyKey?: string | undefined;
}

export interface DeployCollectionResult {
  deployment: Deployment & { transactionHash: Hex };
  /** The client's own key, or the one derived from the request. */
  idempotencyKey: string;
  warnings: string[];
}

const signWithinMs = 10_000;
const retryAfterMs = 200;
/** The answer may leave before a slow node has taken the bytes: they are on disk, the worker sends them again. */
const sendWithinMs = 250;

/**
 * Deploys a collection: the request becomes durable, gets its nonce, is signed and stored, and only then
 * answered with its hash; the relay drives it to an end whatever happens to this process.
 *
 * @throws ServiceError the input's faults; `service_unavailable` when it could not be signed within ten
 *   seconds: it stays queued, and the same request asks for it again.
 */
export async function deployCollection(
  services: Services,
  caller: Caller,
  input: DeployCollectionInput,
): Promise<DeployCollectionResult> {
  const checked = await checkDeployment(services, caller, input);
  await checkTreasury(services, checked.chain, checked.payload.treasuryAddress);
  const intent = await acceptDeployment(services, caller, input.idempotencyKey, checked);
  const signed = await untilSigned(services, checked.chain, intent);
  if (signed.state === "signed") await sendBriefly(services, checked.chain, signed);
  const deployment = await getDeployment(services, caller, { id: intent.id });
  const { transactionHash } = deployment;
  if (!transactionHash) throw new Error(`intent ${intent.id} is ${deployment.state} without a hash`);
  return {
    deployment: { ...deployment, transactionHash },
    idempotencyKey: (intent.idem_key ?? "").replace(/^client:/, ""),
    warnings: checked.warnings,
  };
}

async function untilSigned(services: Services, chain: Chain, intent: Intent): Promise<Intent> {
  const end = performance.now() + signWithinMs;
  let ready: Preflight | null = null;
  for (let current = intent; ; current = await getIntent(services.db, intent.id)) {
    const submission = await trySubmit(services, chain, current, ready);
    if ("kind" in submission) {
      if (submission.kind === "signed") return submission.intent;
      if (submission.kind === "over") throw ended(submission.intent);
      if (submission.kind === "held" || performance.now() > end) throw notYet(submission.intent, submission.reason);
      ready = submission.ready;
    } else if (performance.now() > end) {
      throw notYet(current, submission.unavailable.message);
    }
    await sleep(retryAfterMs);
  }
}

async function trySubmit(
  services: Services,
  chain: Chain,
  intent: Intent,
  ready: Preflight | null,
): Promise<Submission | { unavailable: ServiceError }> {
  try {
    return await submitIntent(services, chain, intent, ready);
  } catch (error) {
    if (error instanceof ServiceError && error.code === "service_unavailable") return { unavailable: error };
    throw error;
  }
}

function notYet(intent: Intent, reason: string): ServiceError {
  const expires = intent.expires_at.toISOString();
  return new ServiceError(
    "service_unavailable",
    `accepted but not sent yet: ${reason}. It stays queued until ${expires}; repeat the same request to ask for its hash`,
    { retryAfterSeconds: 10, details: { deployment: intent.id, expiresAt: expires, reason } },
  );
}

function ended(intent: Intent): ServiceError {
  return new ServiceError(
    "value_error",
    `this deployment ended as ${intent.state} before it was sent; use a new Idempotency-Key for a new one`,
    { field: "idempotencyKey", details: { deployment: intent.id } },
  );
}

async function sendBriefly(services: Services, chain: Chain, intent: Intent): Promise<void> {
  const sending = broadcast(services, chain, intent).catch((error: unknown) =>
    services.log.warn({ intent: intent.id, ...loggable(error) }, "sending is left to the worker"),
  );
  const waiting = new AbortController();
  await Promise.race([sending, sleep(sendWithinMs, undefined, { signal: waiting.signal }).catch(() => undefined)]);
  waiting.abort();
}
