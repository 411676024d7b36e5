import type pg from "pg";
import { nftViewStatements } from "../../schema/nft-views.ts";
import { readIndexStatements } from "../../schema/read-indexes.ts";
import { moveOneFungible } from "../../src/indexing/late-changes.ts";
import { createLedger } from "../indexing/ledger-fixture.ts";

/** One movement of a token as the ledger holds it. */
export interface Movement {
  contract: string;
  tokenId: bigint;
  from: string;
  to: string;
  amount?: bigint;
  standard?: "ERC721" | "ERC1155";
  /** Unix seconds. */
  timestamp?: number;
  sender?: string;
}

export const nobody = `0x${"00".repeat(20)}`;

/** `0x2a2a…2a` for 0x2a. */
export function addressOf(byte: number): string {
  return `0x${byte.toString(16).padStart(2, "0").repeat(20)}`;
}

/**
 * The indexer's tables of one chain without an indexer: the real ledger schema with its triggers,
 * views and indexes, filled by `add`.
 */
export class NftFixture {
  readonly #pool: pg.Pool;
  readonly #chainId: number;
  readonly #schema: string;
  #block = 100;

  private constructor(pool: pg.Pool, chainId: number) {
    this.#pool = pool;
    this.#chainId = chainId;
    this.#schema = schemaOf(chainId);
  }

  static async create(pool: pg.Pool, chainIds: readonly number[]): Promise<NftFixture[]> {
    const live = chainIds.map((chainId) => ({ chainId, schema: schemaOf(chainId) }));
    await pool.query("CREATE SCHEMA nft");
    for (const { schema } of live) await createTables(pool, schema);
    for (const { sql } of nftViewStatements(live)) await pool.query(sql);
    return NftFixture.of(pool, chainIds);
  }

  /** For tables that `create` made, in a database that this one was copied from. */
  static of(pool: pg.Pool, chainIds: readonly number[]): NftFixture[] {
    return chainIds.map((chainId) => new NftFixture(pool, chainId));
  }

  /** One block with these movements, one log each. @returns its number. */
  async add(movements: readonly Movement[], batchIndex = 0): Promise<number> {
    this.#block += 1;
    for (const [log, move] of movements.entries()) {
      await this.#pool.query(
        `INSERT INTO ${this.#schema}.transfer VALUES ($1, $2, ${batchIndex}, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
        [
          this.#block,
          log,
          Buffer.alloc(32, this.#block),
          move.timestamp ?? Math.floor(Date.now() / 1000) - 1_000 + this.#block,
          Buffer.alloc(32, this.#block + log),
          bytes(move.sender ?? addressOf(0xcc)),
          bytes(move.contract),
          String(move.tokenId),
          bytes(move.from),
          bytes(move.to),
          move.standard === "ERC1155" ? bytes(addressOf(0xdd)) : null,
          String(move.amount ?? 1n),
          move.standard ?? "ERC721",
        ],
      );
    }
    await this.setHead(this.#block);
    return this.#block;
  }

  /** One block with these ranges of ERC-2309, as the handler writes them; the trigger decides which are listed. */
  async addRanges(ranges: readonly Omit<Movement, "standard">[]): Promise<number> {
    const block = this.#block + 1;
    for (let log = 0; log < ranges.length; log += 1)
      await this.#pool.query(`INSERT INTO ${this.#schema}.token_range VALUES ($1, $2)`, [block, log]);
    return await this.add(ranges, -1);
  }

  async announce(contract: string, from: bigint, to: bigint): Promise<number> {
    this.#block += 1;
    await this.#pool.query(`INSERT INTO ${this.#schema}.metadata_update VALUES ($1, 0, 0, $2, $3, $4)`, [
      this.#block,
      bytes(contract),
      String(from),
      String(to),
    ]);
    await this.setHead(this.#block);
    return this.#block;
  }

  /** The contract says that what it tells of itself changed. */
  async announceContract(contract: string): Promise<number> {
    this.#block += 1;
    await this.#pool.query(`INSERT INTO ${this.#schema}.contract_update VALUES ($1, 0, 0, $2)`, [
      this.#block,
      bytes(contract),
    ]);
    await this.setHead(this.#block);
    return this.#block;
  }

  /** What the worker finds out of a contract, whose logs look like ERC-721's, and what the indexer makes of it. */
  async findFungible(contract: string, fungible: boolean): Promise<void> {
    await this.#pool.query(
      `INSERT INTO service.contract_metadata (chain_id, address, fungible) VALUES ($1, $2, $3)
       ON CONFLICT (chain_id, address) DO UPDATE SET fungible = excluded.fungible`,
      [this.#chainId, bytes(contract), fungible],
    );
    await this.moveFungible();
  }

  /** What the indexer makes of what the worker has found out. */
  async moveFungible(): Promise<void> {
    const client = await this.#pool.connect();
    const version = { chainId: this.#chainId, schema: this.#schema };
    while ((await moveOneFungible(client as unknown as pg.Client, version)) !== "done");
    client.release();
  }

  async setHead(block: number): Promise<void> {
    this.#block = block;
    const time = String(Math.floor(Date.now() / 1000)).padStart(10, "0");
    const checkpoint = `${time}${"0".repeat(16)}${String(block).padStart(16, "0")}${"0".repeat(33)}`;
    await this.#pool.query(`DELETE FROM ${this.#schema}._ponder_checkpoint`);
    await this.#pool.query(`INSERT INTO ${this.#schema}._ponder_checkpoint VALUES ($1)`, [checkpoint]);
  }
}

const schemaOf = (chainId: number) => `c${chainId}_test`;

async function createTables(pool: pg.Pool, schema: string): Promise<void> {
  await createLedger(pool, schema);
  await pool.query(`CREATE TABLE ${schema}.collection (address bytea, owner bytea, intent_id bytea, factory bytea,
    block_number bigint, block_hash bytea, block_timestamp bigint, tx_hash bytea)`);
  await pool.query(`CREATE TABLE ${schema}.metadata_update (block_number bigint, log_index integer,
    block_timestamp bigint, contract bytea, from_token_id numeric(78), to_token_id numeric(78))`);
  await pool.query(`CREATE TABLE ${schema}.contract_update (block_number bigint, log_index integer,
    block_timestamp bigint, contract bytea)`);
  await pool.query(`CREATE TABLE ${schema}._ponder_checkpoint (latest_checkpoint text)`);
  for (const statement of readIndexStatements(schema)) await pool.query(statement);
}

function bytes(hex: string): Buffer {
  return Buffer.from(hex.slice(2), "hex");
}
