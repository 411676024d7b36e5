import type pg from "pg";
import { derivedStateStatements } from "../../schema/derived-state.ts";
import { type RangeAllowance, rangeAllowance } from "../../schema/range-allowance.ts";

export type LedgerRow = {
  block: number;
  log: number;
  batch: number;
  contract: number;
  tokenId: bigint;
  from: number;
  to: number;
  amount: bigint;
  standard: "ERC721" | "ERC1155";
};

/** A product contract, and the owner whom its operator named. */
export type ProductRow = { block: number; contract: number; owner: number };

/** A schema with the ledger table as Ponder makes it, and the derived state on top. */
export async function createLedger(
  pool: Pick<pg.Pool | pg.Client, "query">,
  schema: string,
  allowance: RangeAllowance = rangeAllowance,
): Promise<void> {
  await pool.query(`CREATE SCHEMA ${schema}`);
  await pool.query(`CREATE TABLE ${schema}.transfer (
    block_number bigint NOT NULL, log_index integer NOT NULL, batch_index integer NOT NULL,
    block_hash bytea NOT NULL, block_timestamp bigint NOT NULL, tx_hash bytea NOT NULL, tx_from bytea NOT NULL,
    contract bytea NOT NULL, token_id numeric(78) NOT NULL, from_address bytea NOT NULL, to_address bytea NOT NULL,
    operator bytea, amount numeric(78) NOT NULL, standard text NOT NULL,
    PRIMARY KEY (block_number, log_index, batch_index))`);
  await pool.query(`CREATE TABLE ${schema}.rejected_log (
    block_number bigint NOT NULL, log_index integer NOT NULL, block_timestamp bigint NOT NULL, tx_hash bytea NOT NULL,
    contract bytea NOT NULL, event text NOT NULL, reason text NOT NULL, PRIMARY KEY (block_number, log_index))`);
  await pool.query(`CREATE TABLE ${schema}.token_range (
    block_number bigint NOT NULL, log_index integer NOT NULL, PRIMARY KEY (block_number, log_index))`);
  await pool.query(`CREATE TABLE ${schema}.product (
    block_number bigint NOT NULL, log_index integer NOT NULL, block_hash bytea NOT NULL, block_timestamp bigint NOT NULL,
    tx_hash bytea NOT NULL, address bytea PRIMARY KEY, owner bytea NOT NULL, intent_id bytea NOT NULL, operator bytea NOT NULL)`);
  for (const statement of derivedStateStatements(schema, allowance)) await pool.query(statement);
}

/** Number 0 is the zero address. */
export function address(number: number): Buffer {
  return Buffer.alloc(20, number);
}

export async function insertRows(pool: pg.Pool, schema: string, rows: readonly LedgerRow[]): Promise<void> {
  if (rows.length === 0) return;
  const values = rows.map((row) => {
    const hash = (kind: number) => literal(Buffer.alloc(32, (row.block * 7 + row.log + kind) % 256));
    const { contract, from, to } = { contract: row.contract + 100, from: row.from, to: row.to };
    return `(${row.block}, ${row.log}, ${row.batch}, ${hash(1)}, ${1_700_000_000 + row.block}, ${hash(2)}, ${literal(address(200 + (row.log % 3)))},
      ${literal(address(contract))}, ${row.tokenId}, ${literal(address(from))}, ${literal(address(to))},
      ${row.standard === "ERC1155" ? literal(address(9)) : "NULL"}, ${row.amount}, '${row.standard}')`;
  });
  await pool.query(`INSERT INTO ${schema}.transfer VALUES ${values.join(",")}`);
}

/** The ledger as an index has it that was given these logs, each of one token. */
export async function insertLogs(
  pool: pg.Pool,
  schema: string,
  logs: readonly { blockNumber: string; logIndex: string }[],
): Promise<void> {
  const rows = logs.map(({ blockNumber, logIndex }, index) => ({
    ...{ block: Number(blockNumber), log: Number(logIndex), batch: 0, contract: 1, tokenId: BigInt(index), from: 0 },
    ...{ to: 7, amount: 1n, standard: "ERC721" as const },
  }));
  await insertRows(pool, schema, rows);
}

export async function deleteRows(pool: pg.Pool, schema: string, rows: readonly LedgerRow[]): Promise<void> {
  if (rows.length === 0) return;
  const keys = rows.map((row) => `(${row.block}, ${row.log}, ${row.batch})`).join(",");
  await pool.query(`DELETE FROM ${schema}.transfer WHERE (block_number, log_index, batch_index) IN (${keys})`);
}

export async function insertProducts(pool: pg.Pool, schema: string, products: readonly ProductRow[]): Promise<void> {
  if (products.length === 0) return;
  const hash = literal(Buffer.alloc(32, 1));
  const values = products.map(
    ({ block, contract, owner }) => `(${block}, 0, ${hash}, ${1_700_000_000 + block}, ${hash},
      ${literal(address(contract + 100))}, ${literal(address(owner))}, ${hash}, ${literal(address(250))})`,
  );
  await pool.query(`INSERT INTO ${schema}.product VALUES ${values.join(",")}`);
}

function literal(bytes: Buffer): string {
  return `'\\x${bytes.toString("hex")}'::bytea`;
}
