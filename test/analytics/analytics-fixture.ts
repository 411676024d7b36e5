import { randomBytes } from "node:crypto";
import pg from "pg";
import { pino } from "pino";
import { createAnalystLogin, dropAnalystLogin } from "../../src/db/admin/analyst-logins.ts";
import { changeNft, connect } from "../../src/indexing/nft-views.ts";
import { prepareDatabase } from "../../src/processes/prepare-database.ts";
import { createIndexedDatabase, type TestDatabase } from "../setup/database.ts";
import type { NftFixture } from "../setup/nft-fixture.ts";

export interface AnalyticsFixture {
  database: TestDatabase;
  /** The ledgers of the chains asked for, in that order. */
  ledgers: NftFixture[];
  /** Connection string of an analyst of this database. */
  analystUrl: string;
  analystRole: string;
  /** A fresh session of the analyst, ended by `remove` at the latest. */
  connectAnalyst(): Promise<pg.Client>;
  remove(): Promise<void>;
}

/** A database as the service makes it, chains published the way the indexer publishes them, and an analyst's login. */
export async function createAnalyticsFixture(chainIds: readonly number[]): Promise<AnalyticsFixture> {
  const { database, nfts: ledgers } = await createIndexedDatabase(chainIds);
  await publish(database.url, chainIds);
  await prepareDatabase(database.url, pino({ level: "silent" }));
  const name = `t_${randomBytes(5).toString("hex")}`;
  const { url, role } = await createAnalystLogin(database.url, name);
  const sessions: pg.Client[] = [];
  return {
    database,
    ledgers,
    analystUrl: url,
    analystRole: role,
    connectAnalyst: async () => {
      const client = new pg.Client({ connectionString: url });
      client.on("error", () => undefined);
      await client.connect();
      sessions.push(client);
      return client;
    },
    remove: async () => {
      await Promise.all(sessions.map((client) => client.end().catch(() => undefined)));
      await dropAnalystLogin(database.url, name);
      await database.drop();
    },
  };
}

async function publish(databaseUrl: string, chainIds: readonly number[]): Promise<void> {
  const client = await connect(databaseUrl, "test");
  try {
    await changeNft(client, async () => {
      for (const id of chainIds)
        await client.query("INSERT INTO nft.index_version VALUES ($1, $2, '0x00', true)", [`c${id}_test`, id]);
    });
  } finally {
    await client.end();
  }
}

/** SQLSTATE of the first statement that fails, or `ok`. */
export async function outcome(client: pg.Client, statements: readonly string[]): Promise<string> {
  try {
    for (const statement of statements) await client.query(statement);
    return "ok";
  } catch (error) {
    if (error instanceof pg.DatabaseError) return error.code ?? "no code";
    throw error;
  }
}
