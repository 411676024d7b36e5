import type pg from "pg";
import type { Chain } from "../chains.ts";
import { hashOf } from "./final-block.ts";
import type { RpcGateway } from "./rpc-gateway.ts";

const rounds = 3;

/**
 * The hash of block 0. It decides which index is the chain's, and another one than before makes the old
 * index be dropped. So one word for the known hash is enough, and a new one has to come from every endpoint
 * that answers, every time.
 *
 * @throws Error when they contradict one another or the pinned hash, or when a chain that is not local and
 *   was indexed has another block 0 than it had.
 */
export async function readGenesis(client: pg.Client, gateway: RpcGateway, chain: Chain): Promise<string> {
  const pinned = chain.relay.genesisHash;
  const recorded = await recordedGenesis(client, chain.id);
  const known = pinned ?? recorded;
  const named = new Set<string>();
  for (let round = 0; round < rounds; round++) {
    for (const block of await gateway.requestAll("eth_getBlockByNumber", ["0x0", false])) {
      const hash = hashOf(block);
      if (hash) named.add(hash);
    }
    if (known !== null && named.has(known)) return known;
  }
  const [hash] = named;
  const variable = `GENESIS_HASH_${chain.name.toUpperCase()}`;
  if (hash === undefined) throw new Error("no RPC endpoint gives the genesis block");
  if (pinned !== null)
    throw new Error(
      `the RPC endpoint's genesis block is ${hash}, but ${variable} is ${pinned}: correct that, or RPC_URL_${chain.name.toUpperCase()}`,
    );
  if (named.size > 1) throw new Error(`the RPC endpoints name several genesis blocks: ${[...named].join(", ")}`);
  if (recorded !== null && !chain.local)
    throw new Error(
      `chain ${chain.name} was indexed with genesis block ${recorded}, and the RPC endpoint's is ${hash}: it serves another chain. When this one is right, set ${variable} to it, and the old index is dropped`,
    );
  return hash;
}

async function recordedGenesis(client: pg.Client, chainId: number): Promise<string | null> {
  const { rows } = await client.query<{ genesis: string }>(
    "SELECT genesis_hash AS genesis FROM nft.index_version WHERE chain_id = $1 ORDER BY live DESC LIMIT 1",
    [chainId],
  );
  return rows[0]?.genesis ?? null;
}
