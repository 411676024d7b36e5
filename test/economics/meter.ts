import type pg from "pg";
import type { RpcProxy } from "../setup/rpc-proxy.ts";

/** What one request took of the operator. */
export interface Cost {
  rpcCalls: number;
  /** Added in schema `service`, the audit log and the histories included. */
  rows: number;
  /** Of this process, which is server and client in one: too much rather than too little. */
  processorMs: number;
}

/** Counts what requests take: calls at the node's proxy, rows in the tables, time of the processor. */
export class Meter {
  readonly #proxy: RpcProxy;
  readonly #pool: pg.Pool;

  constructor(proxy: RpcProxy, pool: pg.Pool) {
    this.#proxy = proxy;
    this.#pool = pool;
  }

  /** @returns of `times` requests the average, calls and rows rounded up. */
  async measure(times: number, request: (index: number) => Promise<unknown>): Promise<Cost> {
    const rows = await this.#rows();
    const calls = this.#proxy.seen.length;
    const start = process.cpuUsage();
    for (let index = 0; index < times; index += 1) await request(index);
    const { user, system } = process.cpuUsage(start);
    return {
      rpcCalls: Math.ceil((this.#proxy.seen.length - calls) / times),
      rows: Math.ceil(((await this.#rows()) - rows) / times),
      processorMs: (user + system) / 1_000 / times,
    };
  }

  async #rows(): Promise<number> {
    const { rows } = await this.#pool.query(`
      SELECT sum((xpath('/row/n/text()', query_to_xml(format('SELECT count(*) AS n FROM service.%I', table_name),
        false, true, '')))[1]::text::bigint)::float8 AS n
      FROM information_schema.tables WHERE table_schema = 'service' AND table_type = 'BASE TABLE'`);
    return rows[0].n;
  }
}
