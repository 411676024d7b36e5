import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";
import type { RpcProxy } from "../setup/rpc-proxy.ts";

/** What one request took of the operator. */
export interface Cost {
  rpcCalls: number;
  /** Added in schema `service`, the audit log and the histories included; not what readers asked for, which the worker deletes. */
  rows: number;
  /** Of API and worker, which are one process here. */
  processorMs: number;
  /** Of the processes of the database's connections. */
  databaseMs: number;
  /** Of the database's tables, which grow by pages of 8 KiB, and of the data folder. */
  databaseBytes: number;
  fileBytes: number;
  /** To servers of third parties. */
  outgoing: number;
}

export interface Measured {
  proxy: RpcProxy;
  pool: pg.Pool;
  dataDir: string;
  /** Requests that servers of third parties got until now. */
  outgoing: () => number;
  /** Of this process for asking, until now: it is taken off. */
  clientMs: () => number;
}

type State = Record<keyof Cost, number>;

/** Counts what requests take: calls at the node's proxy, rows in the tables, time of the processors, bytes, requests. */
export class Meter {
  readonly #of: Measured;

  constructor(of: Measured) {
    this.#of = of;
  }

  /** @returns of `times` requests the average, calls, rows and requests rounded up. */
  async measure(times: number, request: (index: number) => Promise<unknown>): Promise<Cost> {
    const before = await this.#state();
    // Looking is no part of it.
    const [start, clientBefore] = [process.cpuUsage(), this.#of.clientMs()];
    for (let index = 0; index < times; index += 1) await request(index);
    const { user, system } = process.cpuUsage(start);
    const clientMs = this.#of.clientMs() - clientBefore;
    const databaseMs = (await this.#databaseMs()) - before.databaseMs;
    const after = await this.#state();
    const each = (name: keyof Cost) => Math.max(0, after[name] - before[name]) / times;
    return {
      rpcCalls: Math.ceil(each("rpcCalls")),
      rows: Math.ceil(each("rows")),
      processorMs: Math.max(0, (user + system) / 1_000 - clientMs) / times,
      databaseMs: Math.max(0, databaseMs) / times,
      ...{ databaseBytes: Math.ceil(each("databaseBytes")), fileBytes: Math.ceil(each("fileBytes")) },
      outgoing: Math.ceil(each("outgoing")),
    };
  }

  async #state(): Promise<State> {
    const { proxy, pool, dataDir, outgoing } = this.#of;
    const { rows } = await pool.query(`
      SELECT sum((xpath('/row/n/text()', query_to_xml(format('SELECT count(*) AS n FROM service.%I', c.relname),
        false, true, '')))[1]::text::bigint)::float8 AS n, pg_database_size(current_database())::float8 AS bytes
      FROM pg_class c WHERE c.relnamespace = 'service'::regnamespace AND c.relkind = 'r' AND c.relname <> 'metadata_demand'`);
    return {
      ...{ rpcCalls: proxy.seen.length, rows: rows[0].n, outgoing: outgoing(), processorMs: 0 },
      ...{ databaseBytes: rows[0].bytes, fileBytes: bytesIn(dataDir) },
      databaseMs: await this.#databaseMs(),
    };
  }

  /** What the kernel says of the processes that serve this database now: of none on a system that does not tell. */
  async #databaseMs(): Promise<number> {
    const { rows } = await this.#of.pool.query(
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    const used = rows.map(({ pid }) => {
      const file = `/proc/${pid}/schedstat`;
      return existsSync(file) ? Number(readFileSync(file, "utf8").split(" ", 1)[0]) / 1e6 : 0;
    });
    return used.reduce((sum, ms) => sum + ms, 0);
  }
}

function bytesIn(folder: string): number {
  if (!existsSync(folder)) return 0;
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const sizes = names.map((name) => statSync(join(folder, name), { throwIfNoEntry: false }));
  return sizes.reduce((sum, size) => sum + (size?.isFile() ? size.size : 0), 0);
}
