import { type Address, getAddress, type Hash } from "viem";
import type { Caller } from "../auth/caller.ts";
import { type Chain, findChain } from "../chains.ts";
import { ServiceError } from "../errors.ts";
import { toAddress, toBytes } from "../relay/bytes.ts";
import type { Services } from "../services.ts";
import { standing } from "./get-deployment.ts";

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
    .selectFrom("service.attempt as a")
    .innerJoin("service.slot as s", (join) =>
      join.onRef("s.chain_id", "=", "a.chain_id").onRef("s.addr", "=", "a.addr").onRef("s.nonce", "=", "a.nonce"),
    )
    .innerJoin("service.intent as signed", "signed.id", "s.intent_id")
    // A wish whose nonce was taken away goes on in a new generation, and its first hash leads there too.
    .innerJoin("service.intent as i", "i.root_id", "signed.root_id")
    .select(["i.state", "i.predicted_addr"])
    .where("a.hash", "=", toBytes(input.transactionHash as Hash))
    .where("a.chain_id", "=", chain.id)
    .where("i.tenant_id", "=", caller.accountId)
    .orderBy("i.gen", "desc")
    .limit(1)
    .executeTakeFirst();
  if (!row) return await findOwnDeployment(services, caller, chain, input.transactionHash as Hash);
  if (standing.includes(row.state)) return getAddress(toAddress(row.predicted_addr));
  if (row.state === "failed_onchain" || row.state === "cancelled") {
    throw new ServiceError("transaction_failed", "the transaction failed; it created and changed nothing");
  }
  throw new ServiceError("transaction_pending", "the transaction is not confirmed yet; ask again in a few seconds", {
    retryAfterSeconds: 2,
  });
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
