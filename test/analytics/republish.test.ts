import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { recordIndexVersion } from "../../src/indexing/index-versions.ts";
import { changeNft, connect, ensureNftViews } from "../../src/indexing/nft-views.ts";
import { addressOf, nobody } from "../setup/nft-fixture.ts";
import { type AnalyticsFixture, createAnalyticsFixture, outcome } from "./analytics-fixture.ts";

let fixture: AnalyticsFixture;
let service: pg.Client;
beforeAll(async () => {
  fixture = await createAnalyticsFixture([1, 137]);
  for (const ledger of fixture.ledgers)
    await ledger.add([{ contract: addressOf(0x2a), tokenId: 1n, from: nobody, to: addressOf(0xa1) }]);
  service = await connect(fixture.database.url, "test");
});
afterAll(async () => {
  await service?.end();
  await fixture?.remove();
});

async function chainsOf(session: pg.Client): Promise<number[]> {
  const { rows } = await session.query<{ chain_id: number }>("SELECT DISTINCT chain_id FROM tokens ORDER BY chain_id");
  return rows.map(({ chain_id }) => chain_id);
}

test("an analyst in a transaction cannot keep a chain's new index from being shown", async () => {
  const session = await fixture.connectAnalyst();
  await session.query("BEGIN");
  expect(await chainsOf(session)).toEqual([1, 137]);
  await changeNft(service, () => service.query("UPDATE nft.index_version SET live = false WHERE chain_id = 137"));
  await expect(session.query("SELECT 1")).rejects.toThrow();
  expect(await chainsOf(await fixture.connectAnalyst())).toEqual([1]);
});

test("a reader of the service itself is waited for", async () => {
  const reader = await fixture.database.pool.connect();
  await reader.query("BEGIN");
  await reader.query("SELECT * FROM nft.tokens");
  const changed = changeNft(service, () =>
    service.query("UPDATE nft.index_version SET live = true WHERE chain_id = 137"),
  );
  // Longer than one try of the publisher for its lock, after which it sends others away.
  await new Promise((wait) => setTimeout(wait, 1_500));
  await reader.query("SELECT 1");
  await reader.query("COMMIT");
  reader.release();
  await changed;
  expect(await chainsOf(await fixture.connectAnalyst())).toEqual([1, 137]);
});

test("views that fall with a chain's schema stand again, and the analyst reads them, when the change is seen", async () => {
  const session = await fixture.connectAnalyst();
  await recordIndexVersion(service, { schema: "c1_next", chainId: 1, genesisHash: "0x01" });
  expect((await service.query("SELECT FROM pg_namespace WHERE nspname = 'c1_test'")).rowCount).toBe(0);
  expect(await chainsOf(session)).toEqual([137]);
  expect(await outcome(session, ["SELECT * FROM holdings_at(137, 1)"])).toBe("ok");
});

test("a view of another version is replaced with its comments and rights, whatever its columns were", async () => {
  const { pool } = fixture.database;
  await pool.query("DROP VIEW analytics.mints; CREATE VIEW analytics.mints AS SELECT 1 AS number");
  await pool.query("DROP FUNCTION analytics.holdings_at");
  await pool.query("CREATE FUNCTION analytics.holdings_at(integer, bigint) RETURNS int LANGUAGE sql AS 'SELECT 1'");
  await pool.query("DELETE FROM nft.analytics_published WHERE name IN ('mints', 'holdings_at')");
  await ensureNftViews(fixture.database.url);
  const session = await fixture.connectAnalyst();
  expect((await session.query("SELECT minter FROM mints")).rows).toEqual([{ minter: addressOf(0xa1) }]);
  expect((await session.query("SELECT owner FROM holdings_at(137, 101)")).rows).toEqual([{ owner: addressOf(0xa1) }]);
  const { rows } = await session.query("SELECT obj_description('mints'::regclass) LIKE 'The rows%' AS commented");
  expect(rows).toEqual([{ commented: true }]);
});
