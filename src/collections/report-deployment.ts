import { sql } from "kysely";
import type { Address, Hash } from "viem";
import type { Caller } from "../auth/caller.ts";
import { type Chain, findChain } from "../chains.ts";
import { toAddress, toBytes, toHash } from "../db/bytes.ts";
import { ServiceError } from "../errors/errors.ts";
import { askNode } from "../relay/chain/node-failure.ts";
import type { Services } from "../services.ts";
import { addressOfCreation, hashOfCreation, readReceipt, readTransaction } from "./exact-creation.ts";

export interface ReportedDeployment {
  /** Where the collection stands, or will when the transaction is mined. */
  address: Address;
}

/**
 * Notes which transaction the account itself calls the deployment of its request of mode SIGN: that one counts, from
 * whatever wallet it comes and whatever was found before, once it is confirmed and exact. Until then another one may
 * be named, for a wallet replaces a transaction that became too cheap.
 *
 * @param input `transactionHash` in any letter case.
 * @throws ServiceError `value_error` for what is no hash, for a transaction that does not consist of exactly the bytes
 *   of a request of this account, and once the collection of an earlier report stands; `not_found` for one that the
 *   node does not know (yet); `transaction_failed` for one that the chain refused; `service_unavailable` while it does not answer; what `AccountCalls` throws.
 */
export async function reportDeployment(
  services: Services,
  caller: Caller,
  input: { chain: string; transactionHash: string },
): Promise<ReportedDeployment> {
  const chain = findChain(services.chains, input.chain);
  const field = { field: "transactionHash" } as const;
  if (!/^0x[0-9a-f]{64}$/i.test(input.transactionHash))
    throw new ServiceError("value_error", "a transaction hash is 0x and 64 hex digits", field);
  const hash = input.transactionHash.toLowerCase() as Hash;
  services.accountCalls.take(chain, caller.accountId, 1);
  const transaction = await askNode(chain, () => readTransaction(services.rpc(chain), hash));
  if (!transaction)
    throw new ServiceError(
      "not_found",
      `no ${chain.name} node of this service knows this transaction yet; send it, and ask again in a few seconds`,
      field,
    );
  const code = hashOfCreation(transaction);
  const row = code && (await findRequest(services, caller, chain.id, toBytes(code)));
  if (!row)
    throw new ServiceError(
      "value_error",
      "this is not the transaction of a request of this account: it has to have no receiver, and the data that was prepared, unchanged",
      field,
    );
  if (transaction.blockHash !== null && (await hasFailed(services, caller, chain, hash)))
    throw new ServiceError("transaction_failed", "the chain refused this transaction: it created no collection", field);
  const { reported_tx: earlier, tx_hash: found } = row;
  if (earlier && found?.equals(earlier) && toHash(earlier) !== hash)
    throw new ServiceError(
      "value_error",
      `the collection of this request stands at ${row.address && toAddress(row.address)}, as it was reported; prepare another one`,
      field,
    );
  await services.db
    .updateTable("service.self_deployment")
    .set({
      reported_tx: toBytes(hash),
      expires_at: sql<Date>`greatest(expires_at, clock_timestamp() + interval '30 days')`,
    })
    .where("id", "=", row.id)
    .where("tenant_id", "=", caller.accountId)
    .execute();
  return { address: addressOfCreation(transaction) };
}

/** Of a transaction that is in a block. */
async function hasFailed({ accountCalls, rpc }: Services, caller: Caller, chain: Chain, hash: Hash): Promise<boolean> {
  accountCalls.take(chain, caller.accountId, 1);
  const receipt = await askNode(chain, () => readReceipt(rpc(chain), hash));
  return receipt?.status === "reverted";
}

async function findRequest(services: Services, caller: Caller, chainId: number, initCodeHash: Buffer) {
  return await services.db
    .selectFrom("service.self_deployment")
    .select(["id", "address", "tx_hash", "reported_tx"])
    .where("tenant_id", "=", caller.accountId)
    .where("chain_id", "=", chainId)
    .where("init_code_hash", "=", initCodeHash)
    .executeTakeFirst();
}
