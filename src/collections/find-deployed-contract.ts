import { sql } from "kysely";
import { type Address, getAddress, type Hash } from "viem";
import type { Caller } from "../auth/caller.ts";
import { type Chain, findChain } from "../chains.ts";
import { toAddress, toBytes } from "../db/bytes.ts";
import type { IntentState } from "../db/tables/relay.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { readProgress } from "./confirmation-progress.ts";
import { confirmedStates, isUndecided } from "./get-deployment.ts";

export interface FindDeployedContractInput {
  chain: string;
  /** Of any transaction that was ever signed for it, or of the creator's own deployment; in any letter case. */
  transactionHash: string;
}

/**
 * The collection that a transaction of the caller's account made or changed.
 *
 * @returns its address in EIP-55 spelling.
 * @throws ServiceError `value_error` for what is no hash; `not_found`; `transaction_pending` until it is
 *   confirmed; `transaction_failed` once the chain has refused it for good.
 */
export async function findDeployedContract(
  services: Services,
  caller: Caller,
  input: FindDeployedContractInput,
): Promise<Address> {
  const chain = findChain(services.chains, input.chain);
  if (!/^0x[0-9a-f]{64}$/i.test(input.transactionHash)) {
    throw new ServiceError("value_error", "a transaction hash is 0x and 64 hex digits", { field: "transaction_hash" });
  }
  const row = await services.db
    .selectFrom("service.intent as i")
    .leftJoin("service.nonce_reservation as s", "s.intent_id", "i.id")
    .select(["i.state", "i.predicted_addr", "s.mined_block"])
    // A request whose nonce was taken away goes on as a retry, and its first hash leads there too.
    .where("i.root_id", "in", rootsOf(chain, toBytes(input.transactionHash as Hash)))
    .where("i.tenant_id", "=", caller.accountId)
    .orderBy("i.retry_number", "desc")
    .limit(1)
    .executeTakeFirst();
  if (!row) return await findOwnDeployment(services, caller, chain, input.transactionHash as Hash);
  if (confirmedStates.includes(row.state)) return getAddress(toAddress(row.predicted_addr));
  if (!isUndecided(row.state)) {
    const cause = causes[row.state] ?? "the transaction failed";
    throw new ServiceError("transaction_failed", `${cause}; it created and changed nothing`);
  }
  const { text, confirmations, required } = await readProgress(services, chain, row.mined_block);
  throw new ServiceError("transaction_pending", `the transaction is not confirmed yet: ${text}`, {
    retryAfterSeconds: 2,
    details: { confirmations: confirmations === null ? null : String(confirmations), required },
  });
}

const causes: Partial<Record<IntentState, string>> = {
  expired: "it could not be sent in time",
  cancelled: "it was cancelled",
};

/** What was found at a nonce is that of the request whose intent id it deployed, not of the one that has the nonce. */
export function rootsOf(chain: Chain, hash: Buffer) {
  return sql<string>`(
    SELECT CASE WHEN s.intent_id IS NULL OR (s.state = 'external' AND a.kind = 'imported') THEN s.found_root
      ELSE signed.root_id END
    FROM service.attempt a JOIN service.nonce_reservation s USING (chain_id, addr, nonce)
      LEFT JOIN service.intent signed ON signed.id = s.intent_id
    WHERE a.hash = ${hash} AND a.chain_id = ${chain.id}
    UNION ALL
    SELECT f.root_id FROM service.intent f WHERE f.found_tx = ${hash} AND f.chain_id = ${chain.id})`;
}

async function findOwnDeployment(services: Services, caller: Caller, chain: Chain, hash: Hash): Promise<Address> {
  const row = await services.db
    .selectFrom("service.self_deployment")
    .select("address")
    .where("tx_hash", "=", toBytes(hash))
    .where("chain_id", "=", chain.id)
    .where("tenant_id", "=", caller.accountId)
    .executeTakeFirst();
  if (row?.address) return getAddress(toAddress(row.address));
  throw new ServiceError("not_found", "no deployment of this account has this transaction hash");
}
