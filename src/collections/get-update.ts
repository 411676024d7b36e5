import { sql } from "kysely";
import type { Address, Hash } from "viem";
import type { Caller } from "../auth/caller.ts";
import type { Chain } from "../chains.ts";
import { toAddress, toHash } from "../db/bytes.ts";
import type { IntentState } from "../db/tables/relay.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { isUuid } from "./get-deployment.ts";

/** An update of a collection's settings on its way to the chain. */
export interface CollectionUpdate {
  id: string;
  chain: Chain;
  collection: Address;
  state: IntentState;
  /** Why it does not go on at the moment. */
  holdReason: string | null;
  /** Hash of the mined transaction, else of the newest signed one; null before the signature. */
  transactionHash: Hash | null;
  block: bigint | null;
  createdAt: Date;
  updatedAt: Date;
}

/**
 * One update that the caller's account asked for.
 *
 * @throws ServiceError `not_found`, also for somebody else's.
 */
export async function getUpdate(services: Services, caller: Caller, id: string): Promise<CollectionUpdate> {
  const row = isUuid(id)
    ? await select(services, id).where("i.tenant_id", "=", caller.accountId).executeTakeFirst()
    : null;
  const chain = services.chains.find((candidate) => candidate.id === row?.chain_id);
  if (!row || !chain) throw new ServiceError("not_found", "no such update of this account");
  return {
    id: row.id,
    chain,
    collection: toAddress(row.predicted_addr),
    state: row.state,
    holdReason: row.hold_reason,
    transactionHash: row.hash && toHash(row.hash),
    block: row.mined_block,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function select(services: Services, id: string) {
  return services.db
    .selectFrom("service.intent as i")
    .leftJoin("service.nonce_reservation as s", "s.intent_id", "i.id")
    .leftJoin("service.attempt as a", (join) =>
      join.onRef("a.chain_id", "=", "s.chain_id").onRef("a.addr", "=", "s.addr").onRef("a.nonce", "=", "s.nonce"),
    )
    .select([
      "i.id",
      "i.chain_id",
      "i.predicted_addr",
      "i.state",
      "i.hold_reason",
      "i.created_at",
      "i.updated_at",
      "s.mined_block",
      "a.hash",
    ])
    .where("i.id", "=", id)
    .where("i.kind", "=", "update")
    .orderBy(sql`a.hash = s.mined_attempt`, (order) => order.desc().nullsLast())
    .orderBy("a.created_at", "desc")
    .limit(1);
}
