import pg from "pg";
import { type Address, zeroHash } from "viem";
import { expect, test } from "vitest";
import { createTestDatabase } from "../setup/database.ts";
import { slowness } from "../setup/wait.ts";
import { contracts, startChain, startIndexer, until, untilIndexed } from "./indexed-chain.ts";

// More than Ponder's 30 blocks of finality for a chain it does not know.
const beyondFinality = 70;

const deadlock = "40P01";

/**
 * Tokens of a contract. While an index is dropped and its views are made again, PostgreSQL may end a reader for a
 * deadlock; the service then answers 503 and its client asks again, and so does this one.
 */
async function tokensOf(pool: pg.Pool, contract: Uint8Array): Promise<{ owner: Buffer }[]> {
  for (;;) {
    try {
      const { rows } = await pool.query<{ owner: Buffer }>("SELECT owner FROM nft.tokens WHERE contract = $1", [
        contract,
      ]);
      return rows;
    } catch (error) {
      if (!(error instanceof pg.DatabaseError) || error.code !== deadlock) throw error;
    }
  }
}

test(
  "a chain that was begun anew while it was indexed is detected when everything final was recorded already too",
  async () => {
    const database = await createTestDatabase();
    let chain = await startChain();
    const indexer = await startIndexer(database.url, chain.url);
    const mint = async () => {
      const nft = await chain.deploy(contracts().Erc721, ["Nft", "NFT", "ipfs://x/"]);
      await chain.call(nft, "mint", [chain.client.account.address]);
      return Buffer.from(nft.address.slice(2), "hex");
    };
    const isRecorded = async () => {
      const [{ schema_name: schema, final_block: recorded } = {}] = (
        await database.pool.query("SELECT schema_name, final_block::text FROM nft.index_version WHERE live")
      ).rows;
      const { rows } = await database.pool.query(
        `SELECT substr(finalized_checkpoint, 27, 16)::bigint::text AS final FROM "${schema}"._ponder_checkpoint`,
      );
      return Number(recorded) > 0 && recorded === rows[0]?.final;
    };
    try {
      await mint();
      for (let count = 0; count < beyondFinality; count++) await chain.client.mine({ blocks: 1 });
      await untilIndexed(database.pool, chain);
      await until(isRecorded, "the final block to be recorded");
      const { port } = chain;
      await chain.stop();
      chain = await startChain(port);
      await mint();
      const second = await mint();
      await until(async () => (await tokensOf(database.pool, second)).length === 1, "the other chain's token");
    } finally {
      await indexer.end();
      await chain.stop();
      await database.drop();
    }
  },
  900_000 * slowness,
);

test(
  "rolled back beyond finality, while it ran or while it was down, a chain is indexed anew",
  async () => {
    const database = await createTestDatabase();
    let chain = await startChain();
    let indexer = await startIndexer(database.url, chain.url);
    const ownerOf = (address: Address) => tokensOf(database.pool, Buffer.from(address.slice(2), "hex"));
    const mint = async () => {
      const nft = await chain.deploy(contracts().Erc721, ["Nft", "NFT", "ipfs://x/"]);
      await chain.call(nft, "mint", [chain.client.account.address]);
      return nft.address;
    };
    const mine = async () => {
      for (let count = 0; count < beyondFinality; count++) await chain.client.mine({ blocks: 1 });
    };
    const untilFinal = () =>
      until(async () => {
        const { rows } = await database.pool.query("SELECT 1 FROM nft.index_version WHERE live AND final_block > 0");
        return rows.length === 1;
      }, "a final block to be recorded");
    try {
      const first = await mint();
      await mine();
      await untilIndexed(database.pool, chain);

      const { port } = chain;
      await chain.stop();
      chain = await startChain(port);
      await mint();
      const second = await mint();
      await until(async () => (await ownerOf(second)).length === 1, "the other chain's token");
      expect((await database.pool.query("SELECT 1 FROM nft.index_version")).rows).toHaveLength(1);
      expect(second).not.toBe(first);

      await mine();
      await untilFinal();
      await indexer.end();
      // Stands for a deeper reorg while the indexer was down: the recorded block is not the node's any more.
      await database.pool.query("UPDATE nft.index_version SET final_hash = $1", [zeroHash]);
      const [before] = (await database.pool.query("SELECT schema_name FROM nft.index_version")).rows;
      indexer = await startIndexer(database.url, chain.url);
      const [after] = (await database.pool.query("SELECT schema_name FROM nft.index_version WHERE live")).rows;
      expect(after).not.toEqual(before);
      expect(await ownerOf(second)).toHaveLength(1);
    } finally {
      await indexer.end();
      await chain.stop();
      await database.drop();
    }
  },
  900_000 * slowness,
);
