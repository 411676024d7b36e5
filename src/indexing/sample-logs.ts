import type pg from "pg";
import { toBytes } from "viem";
import type { Chain } from "../chains.ts";
import type { Logger } from "../telemetry/log.ts";
import { type RpcLog, topicOf } from "./proven-logs.ts";
import type { RpcGateway } from "./rpc-gateway.ts";

/** Each of these logs makes a row. An entry of a batch may make none (amount zero). */
const movements = new Set<string>([
  topicOf("Transfer(address,address,uint256)"),
  topicOf("TransferSingle(address,address,address,uint256,uint256)"),
  topicOf("ConsecutiveTransfer(uint256,uint256,address,address)"),
]);
/** Requests per comparison: for an endpoint's receipts, and for its logs where it has no receipts. */
const requestsOfOne = 2;
/** The tables of the ledger in which a log may have its row. */
const tables = ["transfer", "token_range", "rejected_log"];

/** A request to an endpoint; `logs` is undefined until the answer, and null when there was none. */
interface Question {
  block: number;
  by: Parameters<RpcGateway["logsOfBlock"]>[1];
  logs: RpcLog[] | null | undefined;
}

/**
 * Compares a small share of the index's final blocks with another endpoint's logs. Without proofs, nothing else shows
 * which logs an endpoint left out of a range. Half of the blocks are from those that became final last.
 */
export class LogSampler {
  readonly #client: pg.Client;
  readonly #gateway: Pick<RpcGateway, "activity" | "logsOfBlock">;
  readonly #index: { chain: Chain; schema: string };
  readonly #percent: number;
  readonly #log: Logger;
  #spent = 0;
  #newest = -1;
  #question: Question | null = null;

  /** @param percent the comparisons may cost this share of the number of Ponder's requests. */
  constructor(
    client: pg.Client,
    gateway: Pick<RpcGateway, "activity" | "logsOfBlock">,
    index: { chain: Chain; schema: string },
    percent: number,
    log: Logger,
  ) {
    this.#client = client;
    this.#gateway = gateway;
    this.#index = index;
    this.#percent = index.chain.verification === "logs" ? percent : 0;
    this.#log = log;
  }

  /**
   * Finishes a comparison whose request was answered, or begins one if Ponder has made enough requests since the last.
   * It does not wait for the endpoint, and its errors do not stop the index.
   */
  async look(): Promise<void> {
    const question = this.#question;
    if (question?.logs !== undefined) {
      this.#question = null;
      await this.#compare(question.block, question.by, question.logs);
      return;
    }
    const mayBeSpent = (this.#gateway.activity().answered * this.#percent) / 100;
    if (question || this.#spent + requestsOfOne > mayBeSpent) return;
    const block = await this.#pick();
    if (block !== null) this.#ask(block, "another");
  }

  #ask(block: number, by: Question["by"]): void {
    this.#spent += requestsOfOne;
    const question: Question = { block, by, logs: undefined };
    this.#question = question;
    this.#gateway.logsOfBlock(BigInt(block), by).then(
      (logs) => {
        question.logs = logs;
      },
      (error: unknown) => {
        question.logs = this.#notCompared(block, error);
      },
    );
  }

  async #pick(): Promise<number | null> {
    const { rows } = await this.#client.query<{ final: string | null }>(
      "SELECT final_block::text AS final FROM nft.index_version WHERE schema_name = $1",
      [this.#index.schema],
    );
    const final = Number(rows[0]?.final ?? -1);
    const start = this.#index.chain.startBlock;
    if (final < start) return null;
    const first = Math.random() < 0.5 && this.#newest < final ? Math.max(start, this.#newest + 1) : start;
    this.#newest = final;
    return first + Math.floor(Math.random() * (final - first + 1));
  }

  async #compare(block: number, by: Question["by"], logs: readonly RpcLog[] | null): Promise<void> {
    const missing =
      logs && (await this.#missing(block, logs).catch((error: unknown) => this.#notCompared(block, error)));
    if (!missing) return;
    // One endpoint's answer is not enough to index a chain again.
    if (missing.length > 0 && by === "another") this.#ask(block, "proof");
    else await this.#record(block, missing);
  }

  #notCompared(block: number, error: unknown): null {
    this.#log.debug({ chain: this.#index.chain.name, block, reason: String(error) }, "a block could not be compared");
    return null;
  }

  /** Indexes of logs that should have a row in the ledger and have none. */
  async #missing(block: number, logs: readonly RpcLog[]): Promise<number[]> {
    const { chain, schema } = this.#index;
    const scope = Array.isArray(chain.indexScope) ? new Set<string>(chain.indexScope) : null;
    const expected = logs.filter(
      ({ address, topics }) =>
        movements.has(topics[0] ?? "") && topics.length === 4 && (!scope || scope.has(address.toLowerCase())),
    );
    if (expected.length === 0) return [];
    const lacks = tables.map(
      (table) =>
        `NOT EXISTS (SELECT FROM "${schema}".${table} t WHERE t.block_number = $1 AND t.log_index = l.log_index)`,
    );
    if (chain.indexScope === "factory") lacks.push(`l.contract IN (SELECT address FROM "${schema}".collection)`);
    const { rows } = await this.#client.query<{ log_index: number }>(
      `SELECT l.log_index FROM unnest($2::integer[], $3::bytea[]) AS l (log_index, contract)
       WHERE ${lacks.join(" AND ")} ORDER BY 1`,
      [
        block,
        expected.map(({ logIndex }) => Number(logIndex)),
        expected.map(({ address }) => Buffer.from(toBytes(address))),
      ],
    );
    return rows.map(({ log_index }) => log_index);
  }

  async #record(block: number, missing: readonly number[]): Promise<void> {
    const { chain, schema } = this.#index;
    await this.#client.query(
      `INSERT INTO service.log_sample AS s (schema_name, chain_id, blocks, missing) VALUES ($1, $2, 1, $3)
       ON CONFLICT (schema_name) DO UPDATE SET blocks = s.blocks + 1, missing = s.missing - $4::text || excluded.missing`,
      [schema, chain.id, JSON.stringify(missing.length > 0 ? { [block]: missing.length } : {}), String(block)],
    );
    if (missing.length === 0) return;
    const variable = chain.name.toUpperCase();
    const message = `the index lacks logs: an endpoint left them out. Set VERIFY_${variable}=proofs or name another endpoint first in RPC_URL_${variable}, then run: npm run -s mintyard -- reindex --chain ${chain.name}, and start its indexer anew`;
    this.#log.error({ chain: chain.name, block, logs: missing.slice(0, 20) }, message);
  }
}
