import { type Address, getAddress, type Hash } from "viem";
import type { Caller } from "../auth/caller.ts";
import { type Chain, findChain } from "../chains.ts";
import { toAddress, toBytes } from "../db/bytes.ts";
import type { IntentState } from "../db/tables/relay.ts";
import { ServiceError } from "../errors/errors.ts";
import { pendingError } from "../requests/progress.ts";
import { findRequest } from "../requests/requests.ts";
import type { Services } from "../services.ts";
import { isUndecided } from "../transactions/lifecycle.ts";

interface FindDeployedContractInput {
  chain: string;
  /** Any transaction ever signed for it, or that of the creator's own deployment; in any letter case. */
  transactionHash: string;
}

/**
 * The collection that a transaction of the caller's account created or changed.
 *
 * @returns its address in EIP-55 spelling.
 * @throws ServiceError `value_error` for an invalid hash; `not_found`; `transaction_pending` until it is confirmed;
 *   `transaction_failed` once the chain has refused it for good.
 */
export async function findDeployedContract(
  services: Services,
  caller: Caller,
  { chain: chainName, transactionHash: hash }: FindDeployedContractInput,
): Promise<Address> {
  const chain = findChain(services.chains, chainName);
  const request = await findRequest(services, caller, { name: "deployment" }, { chain: chainName, hash });
  if (!request) return await findOwnDeployment(services, caller, chain, hash as Hash);
  if (request.confirmed) return getAddress(request.contract);
  if (isUndecided(request.state)) throw await pendingError(services, request);
  const cause = causes[request.state] ?? "the transaction failed";
  throw new ServiceError("transaction_failed", `${cause}; it created and changed nothing`);
}

const causes: Partial<Record<IntentState, string>> = {
  expired: "it could not be sent in time",
  cancelled: "it was cancelled",
};

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
