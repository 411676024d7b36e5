import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { type Anvil, startAnvil } from "./anvil.ts";
import { type Indexer, startIndexer, until } from "./indexed-chain.ts";

/** A fast chain, the real indexer on it, and the database that it fills. */
export class IndexedAnvil {
  readonly database: TestDatabase;
  readonly chain: Anvil;
  readonly indexer: Indexer;

  private constructor(database: TestDatabase, chain: Anvil, indexer: Indexer) {
    this.database = database;
    this.chain = chain;
    this.indexer = indexer;
  }

  static async start(): Promise<IndexedAnvil> {
    const [database, chain] = await Promise.all([createTestDatabase(), startAnvil()]);
    return new IndexedAnvil(database, chain, await startIndexer(database.url, chain.url));
  }

  async query(sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    return (await this.database.pool.query<Record<string, unknown>>(sql, values)).rows;
  }

  /** Waits until the index has taken in the chain's present head. */
  async untilHead(): Promise<void> {
    const head = await this.chain.head();
    const shown = async () => (await this.query("SELECT block_number FROM nft.heads"))[0]?.["block_number"] as bigint;
    await until(async () => (await shown()) >= head, `block ${head}`, 600_000);
  }

  async stop(): Promise<void> {
    await this.indexer.end();
    await this.chain.stop();
    await this.database.drop();
  }
}
