import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { address, insertRows, type LedgerRow } from "../indexing/ledger-fixture.ts";
import { SeededGenerator } from "../setup/seeded-generator.ts";
import { type AnalyticsFixture, createAnalyticsFixture } from "./analytics-fixture.ts";

let fixture: AnalyticsFixture;
let analyst: pg.Client;
beforeAll(async () => {
  fixture = await createAnalyticsFixture([1, 137]);
  analyst = await fixture.connectAnalyst();
});
afterAll(() => fixture?.remove());

const lastBlock = 40;

/** Mints, burns, mints again, moves of both standards; contract 3 mixes them. Zero moves and self moves too. */
function randomRows(seed: number): LedgerRow[] {
  const pick = new SeededGenerator(seed).below;
  return Array.from({ length: lastBlock }, (_, index) => index + 1).flatMap((block) =>
    Array.from({ length: pick(9) }, (_, log): LedgerRow => {
      const contract = 1 + pick(3);
      const standard = contract === 1 || (contract === 3 && pick(6) > 0) ? "ERC721" : "ERC1155";
      return {
        ...{ block, log, batch: pick(2), contract, tokenId: BigInt(pick(4)), from: pick(4), to: pick(4), standard },
        amount: standard === "ERC721" ? 1n : BigInt(pick(5)),
      };
    }),
  );
}

/** The rules of schema/derived-state.ts, replayed row by row. @returns sorted `contract token owner amount standard`. */
function replay(rows: readonly LedgerRow[], block: number): string[] {
  const tokens = new Map<string, { has1155: boolean; last: number; balances: Map<number, bigint> }>();
  for (const row of rows.filter((candidate) => candidate.block <= block)) {
    const key = `${row.contract} ${row.tokenId}`;
    const token = tokens.get(key) ?? { has1155: false, last: 0, balances: new Map<number, bigint>() };
    tokens.set(key, token);
    if (row.standard === "ERC721") {
      token.last = row.to;
      continue;
    }
    token.has1155 = true;
    token.balances.set(row.from, (token.balances.get(row.from) ?? 0n) - row.amount);
    token.balances.set(row.to, (token.balances.get(row.to) ?? 0n) + row.amount);
  }
  return [...tokens]
    .flatMap(([key, { has1155, last, balances }]) => {
      if (!has1155) return last === 0 ? [] : [`${key} ${last} 1 ERC721`];
      const held = [...balances].filter(([owner, amount]) => owner !== 0 && amount > 0n);
      return held.map(([owner, amount]) => `${key} ${owner} ${amount} ERC1155`);
    })
    .toSorted();
}

interface Row {
  contract: string;
  contract_bytes: Buffer;
  token_id: string;
  owner: string;
  owner_bytes: Buffer;
  amount: string;
  standard: string;
}

function spell(rows: readonly Row[]): string[] {
  return rows
    .map((row) => {
      expect([row.contract, row.owner]).toEqual(
        [row.contract_bytes, row.owner_bytes].map((b) => `0x${b.toString("hex")}`),
      );
      const [contract = 0, owner] = [row.contract_bytes[0], row.owner_bytes[0]];
      return `${contract - 100} ${row.token_id} ${owner} ${row.amount} ${row.standard}`;
    })
    .toSorted();
}

test("holdings at every block of a random history are what a replay up to it gives, on one chain only", async () => {
  const rows = randomRows(20_260_729);
  await insertRows(fixture.database.pool, "c1_test", rows);
  await insertRows(fixture.database.pool, "c137_test", randomRows(7));
  await fixture.ledgers[0]?.setHead(lastBlock);
  const kinds = rows.flatMap(({ from, to }) => [from === 0 && to !== 0 && "mint", to === 0 && from !== 0 && "burn"]);
  expect(kinds).toEqual(expect.arrayContaining(["mint", "burn"]));
  for (let block = 0; block <= lastBlock; block += 1) {
    const found = await analyst.query<Row>("SELECT * FROM holdings_at(1, $1)", [block]);
    expect(spell(found.rows), `block ${block}`).toEqual(replay(rows, block));
  }
  const now = await analyst.query<Row>("SELECT * FROM holdings WHERE chain_id = 1");
  expect(spell(now.rows)).toEqual(replay(rows, lastBlock));
});

test("a block that is not indexed yet, or a chain that is not indexed, has no holdings", async () => {
  for (const [chain, block] of [
    [1, lastBlock + 1],
    [5, 1],
  ])
    expect((await analyst.query("SELECT FROM holdings_at($1, $2)", [chain, block])).rowCount).toBe(0);
});

test("text and bytes of a view name the same address", async () => {
  const { rows } = await analyst.query(
    "SELECT FROM transfers WHERE from_address <> '0x' || encode(from_address_bytes, 'hex')",
  );
  expect(rows).toEqual([]);
  const one = await analyst.query<{ contract: string }>(
    "SELECT DISTINCT contract FROM tokens WHERE contract_bytes = $1",
    [address(101)],
  );
  expect(one.rows).toEqual([{ contract: `0x${"65".repeat(20)}` }]);
});
