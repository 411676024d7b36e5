import type { Kysely } from "kysely";
import { sql } from "kysely";
import type { Address, Hash } from "viem";
import type { Caller } from "../auth/caller.ts";
import { type Chain, findChain } from "../chains.ts";
import { rootsOf } from "../collections/find-deployed-contract.ts";
import { confirmedStates, isUuid } from "../collections/get-deployment.ts";
import { toAddress, toBytes, toHash } from "../db/bytes.ts";
import type { Database } from "../db/database.ts";
import type { IntentKind, IntentState } from "../db/tables/relay.ts";
import { ServiceError } from "../errors/errors.ts";
import { isOperation, type OperationKind } from "../relay/chain/operation.ts";
import { shownHash } from "../relay/store/nonces.ts";
import type { TokensPayload } from "../relay/store/operation-payload.ts";
import type { Services } from "../services.ts";
import type { ContractPayload, ContractUpdatePayload } from "./contract-payload.ts";

/** A contract, mint, update, burn or transfer, from the request to the chain. */
export interface ProductRequest {
  id: string;
  kind: OperationKind;
  chain: Chain;
  state: IntentState;
  /** Why it does not go on now. */
  holdReason: string | null;
  /** Why it failed, for people; null unless it did. */
  error: string | null;
  payload: ContractPayload | ContractUpdatePayload | TokensPayload;
  /** Hash of the transaction that did it or was mined, else of the newest signed one; null before the signature. */
  transactionHash: Hash | null;
  /** The contract that it acts on, or that it deploys: then nothing may be sent there before it is confirmed. */
  contract: Address;
  /** It is on the chain, deep enough to be shown. */
  confirmed: boolean;
  block: bigint | null;
  createdAt: Date;
  /** The same in Unix microseconds. */
  createdMicros: bigint;
  updatedAt: Date;
}

export type RequestKey = { id: string } | { chain: string; hash: string };

const kinds = ["contract", "contract_update", "mint", "token_update", "burn", "transfer"] as const;

/**
 * A request of the caller's account, by its id (of an earlier try too) or by any hash that was signed for it.
 *
 * @throws ServiceError `not_found`, also for somebody else's; `value_error` for what is no hash.
 */
export async function getRequest(services: Services, caller: Caller, key: RequestKey): Promise<ProductRequest> {
  if ("id" in key && !isUuid(key.id)) throw notFound();
  if ("hash" in key && !/^0x[0-9a-f]{64}$/i.test(key.hash))
    throw new ServiceError("value_error", "a transaction hash is 0x and 64 hex digits", { field: "transaction_hash" });
  const roots =
    "id" in key
      ? sql<string>`(SELECT root_id FROM service.intent WHERE id = ${key.id})`
      : rootsOf(findChain(services.chains, key.chain), toBytes(key.hash as Hash));
  const row = await selectRequests(services.db)
    .where("i.tenant_id", "=", caller.accountId)
    .where("i.root_id", "in", roots)
    // A hash that several mints share names the one whose nonce it has.
    .orderBy("i.batch_lead", (order) => order.asc().nullsFirst())
    .orderBy("i.retry_number", "desc")
    .limit(1)
    .executeTakeFirst();
  if (!row) throw notFound();
  return toRequest(services, row);
}

function notFound(): ServiceError {
  return new ServiceError("not_found", "no such request of this account");
}

/** Requests with their place in the wallet's queue and the one hash to show. */
export function selectRequests(db: Kysely<Database>, of: readonly IntentKind[] = kinds) {
  return (
    db
      .selectFrom("service.intent as i")
      // A member of a batch has its lead's transaction.
      .leftJoin("service.nonce_reservation as s", (join) =>
        join.on("s.intent_id", "=", sql<string>`CASE i.state WHEN 'batched' THEN i.batch_lead ELSE i.id END`),
      )
      .where("i.kind", "in", of)
      .select([
        ...(["i.id", "i.kind", "i.chain_id", "i.state", "i.hold_reason", "i.hold_detail", "i.payload"] as const),
        ...(["i.predicted_addr", "i.created_at", "i.updated_at", "i.found_tx", "i.found_block"] as const),
        "s.mined_block",
        shownHash.as("hash"),
      ])
      .select(sql<bigint>`(extract(epoch FROM i.created_at) * 1000000)::bigint`.as("created_micros"))
  );
}

export type RequestRow = Awaited<ReturnType<ReturnType<typeof selectRequests>["executeTakeFirstOrThrow"]>>;

export function toRequest(services: Services, row: RequestRow): ProductRequest {
  const chain = services.chains.find((candidate) => candidate.id === row.chain_id);
  if (!chain)
    throw new ServiceError("chain_not_supported", `the chain of this request (${row.chain_id}) is not served any more`);
  if (!isOperation(row.kind)) throw new Error(`${row.kind} is no request of a product contract`);
  const hash = row.found_tx ?? row.hash;
  return {
    ...{ id: row.id, kind: row.kind, chain, state: row.state, holdReason: row.hold_reason },
    error: failures[row.state] ? `${failures[row.state]}${row.hold_detail ? `: ${row.hold_detail}` : ""}` : null,
    payload: row.payload as ProductRequest["payload"],
    transactionHash: hash && toHash(hash),
    contract: toAddress(row.predicted_addr),
    confirmed: confirmedStates.includes(row.state),
    block: row.found_tx ? row.found_block : row.mined_block,
    createdAt: row.created_at,
    createdMicros: BigInt(row.created_micros),
    updatedAt: row.updated_at,
  };
}

const failures: Partial<Record<IntentState, string>> = {
  failed_onchain: "the chain refused it for good",
  cancelled: "it was cancelled",
  expired: "it was not sent within its time",
};
