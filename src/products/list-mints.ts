import { sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import type { OperationToken } from "../relay/store/operation-payload.ts";
import type { Services } from "../services.ts";
import { newestRequests, toRequest } from "../transactions/requests.ts";
import type { ProductRequest } from "./contract-payload.ts";

export interface MintPage {
  /** Each token that a mint made, of a batch in its order. */
  nfts: { mint: ProductRequest; token: OperationToken }[];
  /** Of all pages. */
  total: number;
}

/** A page by number is found by counting: so many tokens at most. */
const mostSkipped = 10_000;
const unsigned = ["queued", "held", "assigned", "cancelled", "expired", "failed_onchain"] as const;

/**
 * One page of the tokens that the caller's mints made or are making, newest first, as old clients ask for them: by number.
 *
 * @param input `chain` as sent; absent: all. `pageNumber` from 1.
 * @throws ServiceError `value_error` for a page too far from the newest mint.
 */
export async function listMints(
  services: Services,
  caller: Caller,
  input: { chain?: string | undefined; pageNumber?: number | undefined; pageSize: number },
): Promise<MintPage> {
  const skipped = ((input.pageNumber ?? 1) - 1) * input.pageSize;
  if (skipped > mostSkipped)
    throw new ServiceError("value_error", `pages reach ${mostSkipped} tokens back`, { field: "page_number" });
  const chain = input.chain === undefined ? null : findChain(services.chains, input.chain);
  const chains = chain ? [chain.id] : services.chains.map(({ id }) => id);
  const tokens = sql<{
    token: OperationToken;
    at: bigint;
  }>`LATERAL jsonb_array_elements(i.payload -> 'tokens') WITH ORDINALITY`;
  const [rows, { total }] = await Promise.all([
    newestRequests(services, caller, ["mint"])
      .innerJoin(tokens.as<"t">(sql`t (token, at)`), (join) => join.onTrue())
      .select("t.token")
      .where("i.chain_id", "in", [...chains, -1])
      .where("i.state", "not in", [...unsigned])
      .orderBy("t.at")
      .limit(input.pageSize)
      .offset(skipped)
      .execute(),
    services.db
      .selectFrom("service.intent as i")
      .select(sql<bigint>`coalesce(sum(jsonb_array_length(i.payload -> 'tokens')), 0)::bigint`.as("total"))
      .where("i.tenant_id", "=", caller.accountId)
      .where("i.kind", "=", "mint")
      .where("i.chain_id", "in", [...chains, -1])
      .where("i.state", "not in", [...unsigned, "retried"])
      .executeTakeFirstOrThrow(),
  ]);
  return {
    nfts: rows.map((row) => ({ mint: toRequest<ProductRequest>(services, row), token: row.token })),
    total: Number(total),
  };
}
