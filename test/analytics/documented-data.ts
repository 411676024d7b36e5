import { addressOf, nobody } from "../setup/nft-fixture.ts";
import type { AnalyticsFixture } from "./analytics-fixture.ts";

const [yard, coins, away] = [addressOf(0x2a), addressOf(0x3b), addressOf(0x5c)];
const [ada, bob, cleo] = [addressOf(0xa1), addressOf(0xb2), addressOf(0xc3)];
/** Noon of the first three days of 2024, UTC. */
const [first, second, third] = [1_704_110_400, 1_704_196_800, 1_704_283_200];

/**
 * What the queries of docs/analysts.md are asked about. Chain 1: a collection launched here (four
 * tokens; one moved, one burned and minted again) and an ERC-1155 contract; chain 137: one token.
 */
export async function addDocumentedData({ database: { pool }, ledgers }: AnalyticsFixture): Promise<void> {
  const [one, polygon] = ledgers;
  if (!one || !polygon) throw new Error("two chains are wanted");
  const moved = (contract: string, tokenId: bigint, from: string, to: string, timestamp: number) => ({
    ...{ contract, tokenId, from, to, timestamp },
  });
  const units = (from: string, to: string, amount: bigint, timestamp: number) => ({
    ...{ ...moved(coins, 7n, from, to, timestamp), amount },
    standard: "ERC1155" as const,
  });
  await one.add([
    moved(yard, 1n, nobody, ada, first),
    moved(yard, 2n, nobody, ada, first),
    moved(yard, 3n, nobody, bob, first),
  ]);
  await one.add([moved(yard, 1n, ada, bob, second), units(nobody, ada, 10n, second)]);
  await one.add([moved(yard, 2n, ada, nobody, second), units(ada, cleo, 4n, second)]);
  await one.add([moved(yard, 2n, nobody, cleo, third), moved(yard, 4n, nobody, cleo, third)]);
  await polygon.add([moved(away, 1n, nobody, ada, first)]);
  await setHead(pool, "c1_test", 104, third);
  await setHead(pool, "c137_test", 101, first);

  const bytes = (hex: string) => Buffer.from(hex.slice(2), "hex");
  const hash = Buffer.alloc(32, 0x77);
  await pool.query("INSERT INTO c1_test.collection VALUES ($1, $2, $3, $4, 100, $3, $5, $3)", [
    ...[bytes(yard), bytes(ada), hash, bytes(addressOf(0xfa)), first - 3_600],
  ]);
  await pool.query(
    "INSERT INTO service.contract_metadata (chain_id, address, status, name, symbol) VALUES (1, $1, 'fresh', 'Yard', 'YRD')",
    [bytes(yard)],
  );
  const fence = (value: string) => `{"attributes": [{"trait_type": "Fence", "value": "${value}"}]}`;
  // The last is valid JSON that jsonb refuses, as documents of third parties may be.
  const documents = [fence("wood"), fence("wood"), fence("stone"), '{"name": "\\u0000"}'];
  for (const [index, document] of documents.entries())
    await pool.query(
      `INSERT INTO service.token_metadata (chain_id, contract, token_id, status, name, metadata, fetched_at)
       VALUES (1, $1, $2, 'fresh', $3, $4, '2024-01-04T00:00:00Z')`,
      [bytes(yard), index + 1, `Yard #${index + 1}`, document],
    );
}

async function setHead(pool: AnalyticsFixture["database"]["pool"], schema: string, block: number, time: number) {
  const checkpoint = `${time}${"0".repeat(16)}${String(block).padStart(16, "0")}${"0".repeat(33)}`;
  await pool.query(`UPDATE ${schema}._ponder_checkpoint SET latest_checkpoint = $1`, [checkpoint]);
}
