import { chainAliases, findChain } from "../chains.ts";
import { readOwnWrites } from "../db/tenancy/tenant.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";

/** Longer than most chains' blocks take to be indexed, shorter than clients wait for an answer. */
const timeoutMs = 5_000;
const pauseMs = 50;

/** The most requests that may wait for a block at once. */
const maxWaiting = 200;
let waiting = 0;

/**
 * Waits until the index of a chain has a block, so that clients can read their own writes.
 *
 * @param minBlock `<chain>:<block number>`, as in the header `X-Min-Block`.
 * @throws ServiceError `value_error` for any other text; `service_unavailable` with the index's current block if the
 * block does not arrive in time.
 */
export async function waitForBlock(services: Services, minBlock: string): Promise<void> {
  const match = /^([a-z0-9_-]{1,40}):(\d{1,18})$/.exec(minBlock);
  if (!match)
    throw new ServiceError("value_error", "X-Min-Block must be <chain>:<block number>", { field: "X-Min-Block" });
  const [, name = "", block = "0"] = match;
  const chain = findChain(services.chains, chainAliases[name] ?? name);
  const end = Date.now() + timeoutMs;
  for (;;) {
    const head = await services.db
      .selectFrom("nft.heads")
      .select("block_number")
      .where("chain_id", "=", chain.id)
      .executeTakeFirst();
    if (head && head.block_number >= BigInt(block)) return readOwnWrites();
    if (Date.now() > end || waiting >= maxWaiting) {
      throw new ServiceError(
        "service_unavailable",
        `the index of ${name} has reached block ${head?.block_number ?? "none"}`,
        {
          retryAfterSeconds: 2,
          details: { indexedBlock: head ? String(head.block_number) : null },
        },
      );
    }
    waiting += 1;
    try {
      await new Promise((done) => setTimeout(done, pauseMs));
    } finally {
      waiting -= 1;
    }
  }
}
