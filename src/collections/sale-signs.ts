import { sql } from "kysely";
import type { Address } from "viem";
import type { Chain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import type { Services } from "../services.ts";
import type { Sign } from "./kept-readings.ts";

/** So long after its block's time the index is taken to be at work; a chain whose blocks come later has no such signs. */
const freshSeconds = 120;
/** Where the index tells of a contract, only what has no event is older than its signs; else everything may be. */
const keptMs = { told: 60_000, untold: 5_000 };

/**
 * What the database knows of a collection's sale: movements of its tokens and changes of their metadata that the index has,
 * and updates of ours that a block has. One statement by keys of indexes, for all who watch it.
 */
export async function readSigns(services: Services, chain: Chain, address: Address): Promise<Sign> {
  const contract = toBytes(address);
  const { rows } = await sql<{ name: string; block: bigint; fresh: boolean; own: boolean }>`
    SELECT concat_ws(' ', c.transfer_count, m.block_number, m.log_index, u.updates, u.block_number) AS name,
      greatest(h.block_number, u.block_number, 0) AS block,
      coalesce(h.block_timestamp > extract(epoch FROM clock_timestamp()) - ${freshSeconds}, false) AS fresh,
      EXISTS (SELECT FROM nft.collections o WHERE o.chain_id = ${chain.id} AND o.address = ${contract}) AS own
    FROM (SELECT) one
    LEFT JOIN nft.heads h ON h.chain_id = ${chain.id}
    LEFT JOIN nft.contracts c ON c.chain_id = ${chain.id} AND c.address = ${contract}
    LEFT JOIN LATERAL (SELECT block_number, log_index FROM nft.metadata_updates
      WHERE chain_id = ${chain.id} AND contract = ${contract} ORDER BY block_number DESC, log_index DESC LIMIT 1) m ON true
    LEFT JOIN LATERAL (SELECT count(*) AS updates, max(block_number) AS block_number FROM service.mined_update
      WHERE chain_id = ${chain.id} AND address = ${contract}) u ON true`.execute(services.db);
  const [{ name, block, fresh, own } = { name: "", block: 0n, fresh: false, own: false }] = rows;
  const isTold = fresh && isIndexed(chain, address, own);
  return { name, block: BigInt(block), mostKeptMs: isTold ? keptMs.told : keptMs.untold };
}

function isIndexed({ indexScope }: Chain, address: Address, own: boolean): boolean {
  if (indexScope === "all") return true;
  return indexScope === "factory" ? own : indexScope.includes(address);
}
