import { findChain } from "../src/chains.ts";
import { loadConfig } from "../src/config/config.ts";
import { orderRebuild } from "../src/indexing/index-versions.ts";
import { connect } from "../src/indexing/nft-views.ts";

/** Makes the chain's indexer index it anew at its next start; the old rows stay readable until then. */
export async function reindex(name: string): Promise<number> {
  const config = loadConfig();
  const chain = findChain(config.chains, name);
  const client = await connect(config.databaseUrl, "reindex");
  try {
    await orderRebuild(client, chain.id);
  } finally {
    await client.end();
  }
  process.stdout.write(`${name} is indexed anew when its indexer starts next\n`);
  return 0;
}
