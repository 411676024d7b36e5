import type { Services } from "../services.ts";

/** How far the index of a chain has come, when the answer was begun: the answer has at least this block. */
export interface ChainFreshness {
  block: string;
  /** The block's own time, RFC 3339. */
  timestamp: string;
  lagSeconds: number;
}

export type Freshness = Record<string, ChainFreshness>;

interface Heads {
  readUntil: number;
  rows: Promise<{ chain_id: number; block_number: bigint; block_timestamp: bigint }[]>;
}

/** An older head is still a true lower bound, so it need not be read for every answer. */
const keptMs = 500;
const kept = new WeakMap<Services, Heads>();

/** Per chain of this installation that is indexed. Never fails: without a database it is empty. */
export async function readFreshness(services: Services): Promise<Freshness> {
  const now = Date.now();
  let heads = kept.get(services);
  if (!heads || heads.readUntil < now) {
    const rows = services.db
      .selectFrom("nft.heads")
      .select(["chain_id", "block_number", "block_timestamp"])
      .execute()
      .catch(() => []);
    heads = { readUntil: now + keptMs, rows };
    kept.set(services, heads);
  }
  const rows = await heads.rows;
  return Object.fromEntries(
    services.chains.flatMap(({ id, name }) => {
      const head = rows.find((row) => row.chain_id === id);
      if (!head) return [];
      const timestamp = new Date(Number(head.block_timestamp) * 1000).toISOString();
      const lagSeconds = Math.max(0, Math.round(now / 1000 - Number(head.block_timestamp)));
      return [[name, { block: String(head.block_number), timestamp, lagSeconds }]];
    }),
  );
}
