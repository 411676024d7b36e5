import { type Address, decodeEventLog, type Hash } from "viem";
import { collectionFactoryAbi } from "../../contracts/abi/collection-factory.ts";
import type { Chain } from "../chains.ts";
import type { Services } from "../services.ts";
import { toAddress, toBytes } from "./bytes.ts";
import { findNonces, type SentTransaction } from "./find-nonces.ts";
import { lockLane } from "./lanes.ts";
import { askNode } from "./node-failure.ts";
import { deploySelector, updateSelector } from "./signing-rules.ts";
import { missingNonces } from "./slot-gaps.ts";
import { costOf } from "./slots.ts";

/** A nonce that the chain has and the database had not. */
export interface FoundNonce {
  nonce: bigint;
  hash: Hash;
  kind: "deploy" | "update" | "noop" | "foreign";
  /** What the paying wallets may sign: so it was us, and a restored database has forgotten it. */
  explained: boolean;
}

/**
 * Makes a lane whole whose wallet did more than the database knows of, after an older backup was restored:
 * notes each forgotten transaction in its slot, and opens the lane behind them. What waits for its own
 * collection is adopted by the worker before; this is for requests that are lost, and a person's decision.
 *
 * @param options `acceptForeign`: nonces used by other transactions are noted as such and passed over. Without,
 *   one of them keeps the lane closed and nothing is written.
 * @returns the nonces that were missing, ascending.
 */
export async function reconcileLane(
  services: Services,
  chain: Chain,
  wallet: Address,
  options: { acceptForeign?: boolean } = {},
): Promise<FoundNonce[]> {
  const addr = toBytes(wallet);
  const count = BigInt(await askNode(chain, () => services.rpc(chain).getTransactionCount({ address: wallet })));
  const missing = await missingNonces(services.db, chain.id, addr, count);
  const sent = await findNonces(services, chain, wallet, missing);
  if (sent.length < missing.length) throw new Error(`${missing.length - sent.length} nonces were not found; try again`);
  const ours = await knownCollections(services, chain, sent);
  const found = sent.map((transaction): FoundNonce & { sent: SentTransaction } => {
    const kind = kindOf(chain, wallet, ours, transaction);
    return { nonce: transaction.nonce, hash: transaction.hash, kind, explained: kind !== "foreign", sent: transaction };
  });
  const closed = found.some(({ explained }) => !explained) && !options.acceptForeign;
  const { genesisHash } = await services.relay.factory(chain);
  await services.db.transaction().execute(async (transaction) => {
    const lane = await lockLane(transaction, chain.id, addr, count, genesisHash);
    const place = { chain_id: chain.id, addr };
    for (const { nonce, kind, sent: bytes } of closed ? [] : found) {
      const mined = {
        mined_block: bytes.receipt.blockNumber,
        mined_block_hash: toBytes(bytes.receipt.blockHash),
        mined_attempt: toBytes(bytes.hash),
        mined_cost_wei: costOf(bytes.receipt),
      };
      const state =
        kind === "foreign" ? ({ state: "foreign", kind: "noop" } as const) : { state: "mined" as const, kind };
      await transaction
        .insertInto("service.slot")
        .values({ ...place, nonce, ...state, ...(kind === "foreign" ? {} : mined) })
        .execute();
      if (kind === "foreign" || !bytes.raw) continue;
      const { maxFeePerGas: max_fee, maxPriorityFeePerGas: tip, gas } = bytes;
      await transaction
        .insertInto("service.attempt")
        .values({
          ...place,
          nonce,
          hash: toBytes(bytes.hash),
          kind: "adopted",
          raw: toBytes(bytes.raw),
          max_fee,
          tip,
          gas,
        })
        .execute();
    }
    const next = closed || lane.next_nonce > count ? lane.next_nonce : count;
    await transaction
      .updateTable("service.lane")
      .set({ state: closed ? "reconcile" : "open", next_nonce: next })
      .where("chain_id", "=", chain.id)
      .where("addr", "=", addr)
      .where("state", "!=", "halted")
      .execute();
  });
  services.log.warn({ chain: chain.name, wallet, found: found.length, closed }, "a lane was reconciled with its chain");
  return found.map(({ sent: _, ...rest }) => rest);
}

function kindOf(chain: Chain, wallet: Address, ours: ReadonlySet<string>, sent: SentTransaction): FoundNonce["kind"] {
  if (sent.value !== 0n || !sent.raw || !sent.to) return "foreign";
  const selector = sent.data.slice(0, 10);
  if (sent.to === chain.factory?.address && selector === deploySelector) return "deploy";
  if (ours.has(sent.to) && selector === updateSelector) return "update";
  return sent.to === wallet && sent.data === "0x" ? "noop" : "foreign";
}

/** Collections that the database knows, and those that the factory announced in what was found. */
async function knownCollections(
  services: Services,
  chain: Chain,
  sent: readonly SentTransaction[],
): Promise<ReadonlySet<string>> {
  const targets = sent.flatMap(({ to }) => (to ? [toBytes(to)] : []));
  const rows = targets.length
    ? await services.db
        .selectFrom("service.intent")
        .select("predicted_addr")
        .where("chain_id", "=", chain.id)
        .where("predicted_addr", "in", targets)
        .execute()
    : [];
  const announced = sent
    .flatMap(({ receipt }) => receipt.logs)
    .filter((log) => log.address.toLowerCase() === chain.factory?.address)
    .map((log) => decodeEventLog({ abi: collectionFactoryAbi, ...log, strict: false }))
    .flatMap(({ args }) => (args && "collection" in args ? [String(args.collection).toLowerCase()] : []));
  return new Set([...rows.map((row) => toAddress(row.predicted_addr)), ...announced]);
}
