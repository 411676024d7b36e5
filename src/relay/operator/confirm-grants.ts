import type { Address, Hash } from "viem";
import type { Chain } from "../../chains.ts";
import { toBytes, toHash, toHex } from "../../db/bytes.ts";
import { ServiceError } from "../../errors/errors.ts";
import type { RelayContext } from "../chain/context.ts";
import { calls, costOf, parseBlock, parseReceipt } from "../chain/reads.ts";

/** Grants that a command signed and that nobody has seen mined yet. */
export async function listOwnGrants(
  services: RelayContext,
  chain: Chain,
  wallets: readonly Address[],
): Promise<Hash[]> {
  const rows = await services.db
    .selectFrom("service.nonce_reservation as s")
    .innerJoin("service.attempt as a", (join) =>
      join.onRef("a.chain_id", "=", "s.chain_id").onRef("a.addr", "=", "s.addr").onRef("a.nonce", "=", "s.nonce"),
    )
    .select("a.hash")
    .where("s.chain_id", "=", chain.id)
    .where("s.addr", "in", wallets.map(toBytes))
    .where("s.intent_id", "is", null)
    .where("s.found", "=", false)
    .where("s.state", "=", "open")
    .orderBy("s.nonce")
    .execute();
  return rows.map(({ hash }) => toHash(hash));
}

/** How far a grant is. */
export type GrantProgress =
  | { kind: "confirmed" }
  | { kind: "mined"; block: bigint; depth: bigint }
  /** In no block that an endpoint shows. */
  | { kind: "sent" };

/**
 * Sends the stored bytes of a grant once more and looks whether it is as deep as a deployment has to be; then its block
 * is recorded.
 *
 * @throws ServiceError `value_error` when the factory refused it.
 */
export async function confirmGrant(services: RelayContext, chain: Chain, hash: Hash): Promise<GrantProgress> {
  const attempt = await services.db
    .selectFrom("service.attempt")
    .selectAll()
    .where("hash", "=", toBytes(hash))
    .executeTakeFirstOrThrow();
  const nodes = services.relay.nodes(chain);
  // Answers decide nothing: a node that has it already says so by an error.
  for (const node of await nodes.all()) await node.ask([calls.send(toHex(attempt.raw))]).catch(() => undefined);
  const seen = await nodes
    .first(async (node) => {
      const [head, receipt] = await node.ask([calls.block("latest"), calls.receipt(hash)]);
      return { head: parseBlock(head).number, receipt: parseReceipt(receipt, hash) };
    })
    .catch(() => null);
  const receipt = seen?.receipt;
  if (!receipt) return { kind: "sent" };
  const depth = seen.head - receipt.blockNumber + 1n;
  if (depth < BigInt(chain.confirmations)) return { kind: "mined", block: receipt.blockNumber, depth };
  await services.db
    .updateTable("service.nonce_reservation")
    .set({
      state: "mined",
      mined_block: receipt.blockNumber,
      mined_block_hash: toBytes(receipt.blockHash),
      mined_attempt: toBytes(hash),
      mined_cost_wei: costOf(receipt, attempt.max_fee),
    })
    .where("chain_id", "=", attempt.chain_id)
    .where("addr", "=", attempt.addr)
    .where("nonce", "=", attempt.nonce)
    .execute();
  if (receipt.status !== 1n) throw new ServiceError("value_error", `the grant ${hash} reverted`);
  return { kind: "confirmed" };
}
