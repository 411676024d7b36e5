import pg from "pg";
import { attachOutbox, beginSettling } from "../../src/indexing/event-outbox.ts";
import { numberEvents } from "../../src/outbox/read-events.ts";
import { address, createLedger } from "../indexing/ledger-fixture.ts";

export const chainId = 31337;

/** One movement of a block as this stand-in for Ponder writes it. */
export interface Row {
  token: number;
  from: number;
  to: number;
}

export interface Block {
  number: number;
  hash: Buffer;
  rows: readonly Row[];
}

/** Blocks of all ledgers, so that no two have one hash. */
let made = 0;

/** A ledger with its outbox, written as Ponder writes it: block by block, taken back from the top. */
export class OutboxLedger {
  readonly schema: string;
  readonly client: pg.Client;
  blocks: Block[] = [];
  final = 0;

  private constructor(client: pg.Client, schema: string) {
    this.client = client;
    this.schema = schema;
  }

  static async create(url: string, schema = `c${chainId}_told`): Promise<OutboxLedger> {
    const client = new pg.Client({ connectionString: url });
    client.on("error", () => undefined);
    await client.connect();
    await client.query(`CREATE SCHEMA IF NOT EXISTS nft`);
    await client.query(`CREATE TABLE IF NOT EXISTS nft.index_version (schema_name text PRIMARY KEY, chain_id bigint NOT NULL,
      live boolean NOT NULL DEFAULT false, final_block bigint, final_hash text)`);
    await client.query("INSERT INTO nft.index_version (schema_name, chain_id, live) VALUES ($1, $2, $3)", [
      schema,
      chainId,
      schema === `c${chainId}_told`,
    ]);
    await createLedger(client, schema);
    await client.query(`CREATE TABLE ${schema}._ponder_checkpoint (latest_checkpoint text, finalized_checkpoint text)`);
    return new OutboxLedger(client, schema);
  }

  async attach(): Promise<void> {
    await attachOutbox(this.client, { schema: this.schema, chainId });
  }

  async want(finality: string, contracts: readonly Buffer[] = [], seconds = 3_600): Promise<void> {
    await this.client.query("SELECT service.want_events($1, $2::bytea[], $3, $4)", [
      chainId,
      contracts,
      finality,
      seconds,
    ]);
  }

  /** A block on top, with another hash than any before it. */
  async extend(rows: readonly Row[]): Promise<void> {
    made += 1;
    const hash = Buffer.alloc(32);
    hash.writeUInt32BE(made, 28);
    const block = { number: (this.blocks.at(-1)?.number ?? 0) + 1, hash, rows };
    this.blocks.push(block);
    await this.write([block]);
  }

  /** Takes the blocks of the top out, in one statement. */
  async takeBack(depth: number): Promise<Block[]> {
    const gone = this.blocks.splice(Math.max(this.blocks.length - depth, 0));
    const [first] = gone;
    if (first) await this.client.query(`DELETE FROM ${this.schema}.transfer WHERE block_number >= $1`, [first.number]);
    return gone;
  }

  /** What a restart of Ponder does: rows above a checkpoint go, and those that are on the chain come again. */
  async restart(depth: number, change: (gone: Block[]) => Promise<void>): Promise<void> {
    await beginSettling(this.client, this.schema);
    await change(await this.takeBack(depth));
    await this.attach();
  }

  async writeAgain(blocks: readonly Block[]): Promise<void> {
    this.blocks.push(...blocks);
    await this.write(blocks);
  }

  async write(blocks: readonly Block[]): Promise<void> {
    const rows = blocks.flatMap(({ number, hash, rows: own }) =>
      own.map((row, log) => ({ number, hash, log, ...row })),
    );
    if (rows.length === 0) return;
    const literal = (bytes: Buffer) => `'\\x${bytes.toString("hex")}'`;
    await this.client.query(
      `INSERT INTO ${this.schema}.transfer VALUES ${rows
        .map(
          ({ number, hash, log, token, from, to }) =>
            `(${number}, ${log}, 0, ${literal(hash)}, ${1_700_000_000 + number}, ${literal(hash)}, ${literal(address(7))},
             ${literal(address(100 + (token % 3)))}, ${token}, ${literal(address(from))}, ${literal(address(to))}, NULL, 1, 'ERC721')`,
        )
        .join(",")}`,
    );
  }

  async settle(level: "safe" | "finalized", number: number): Promise<void> {
    if (level === "finalized") this.final = Math.max(this.final, number);
    await this.client.query("SELECT service.tell_settled($1, $2, $3, $4)", [this.schema, level, number, "0xab"]);
  }

  /** Owners by the ledger, of blocks up to a number. */
  owners(upto = Number.POSITIVE_INFINITY): Map<number, number> {
    const owners = new Map<number, number>();
    for (const { number, rows } of this.blocks)
      if (number <= upto) for (const { token, to } of rows) owners.set(token, to);
    return owners;
  }

  async number(): Promise<bigint> {
    return await numberEvents(this.client);
  }

  async end(): Promise<void> {
    await this.client.end();
  }
}

/** What a receiver knows of an event; column names are those of `service.event`. */
export interface OutboxEvent {
  sequence: string;
  id: string;
  type: string;
  finality: string | null;
  retracts: string | null;
  block_number: string;
  log_index: number;
  batch_index: number;
  token_id: string;
  to_address: Buffer;
}

/** A receiver of one finality that does what docs/events.md says. */
export class Receiver {
  readonly #applied = new Map<string, OutboxEvent>();
  readonly #seen = new Set<string>();
  retractions = 0;
  repeated = 0;

  take(event: OutboxEvent): void {
    if (this.#seen.has(event.id)) {
      this.repeated += 1;
      return;
    }
    this.#seen.add(event.id);
    if (event.type === "nft.transfer") this.#applied.set(event.id, event);
    if (event.type !== "nft.transfer.retracted" || event.retracts === null) return;
    this.retractions += 1;
    // A movement of before it listened is none that it has to take back.
    this.#applied.delete(event.retracts);
  }

  owners(): Map<number, number> {
    const inOrder = [...this.#applied.values()].sort(
      (a, b) =>
        Number(a.block_number) - Number(b.block_number) || a.log_index - b.log_index || a.batch_index - b.batch_index,
    );
    return new Map(inOrder.map((event) => [Number(event.token_id), event.to_address[0] ?? 0]));
  }
}
