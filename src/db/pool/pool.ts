import { AsyncResource } from "node:async_hooks";
import { Kysely, PostgresDialect, type PostgresPool } from "kysely";
import pg from "pg";
import { traceStatements } from "../../telemetry/trace-sql.ts";
import { withConnection } from "../connection.ts";
import type { Database } from "../database.ts";
import { bindToTenant } from "../tenancy/tenant.ts";
import "./int8-as-bigint.ts";

/** The HTTP process's role: bound to the rows of one tenant at a time. */
const apiRole = "mintyard_api";

export interface ConnectionOptions {
  /** Every connection uses the role that sees one tenant's rows only. */
  tenants: boolean;
  /** Milliseconds after which the server ends a statement. */
  statementTimeout?: number;
  /**
   * For reads of the index: a statement uses one core of the server and ends with its connection, and idle connections
   * do not keep the process alive.
   */
  reads?: true;
}

/** The server checks whether a statement's connection still exists, and ends statements that nobody waits for. */
const readSettings = ["max_parallel_workers_per_gather=0", "client_connection_check_interval=1s"];

/** A process's connection options; see `createPool`. */
export function connectionOptions(
  databaseUrl: string,
  name: string,
  { tenants, statementTimeout = 15_000, reads }: ConnectionOptions = { tenants: false },
): pg.ClientConfig {
  const settings = [...(tenants ? [`role=${apiRole}`] : []), ...(reads ? readSettings : [])];
  return {
    connectionString: databaseUrl,
    application_name: `mintyard-${name}`,
    ...(settings.length > 0 ? { options: settings.map((setting) => `-c ${setting}`).join(" ") } : {}),
    connectionTimeoutMillis: 5_000,
    statement_timeout: statementTimeout,
    idle_in_transaction_session_timeout: 15_000,
  };
}

/**
 * One pool per process.
 *
 * @param name shown in `pg_stat_activity`, so that an operator can distinguish the processes.
 */
export function createPool(
  databaseUrl: string,
  name: string,
  max = 10,
  options: ConnectionOptions = { tenants: false },
): pg.Pool {
  const pool = new pg.Pool({
    ...connectionOptions(databaseUrl, name, options),
    ...{ max, idleTimeoutMillis: 30_000, allowExitOnIdle: options.reads === true },
  });
  // When PostgreSQL closes an idle connection (restart, failover), it is raised here; the next query opens a new one.
  pool.on("error", () => undefined);
  // When a connection in use breaks, the error is raised here too; its query fails by itself.
  pool.on("connect", (client) => client.on("error", () => undefined));
  if (options.tenants) pool.on("connect", bindToTenant);
  keepContext(pool);
  pool.on("connect", traceStatements);
  return pool;
}

/**
 * A `pool.query` that has to wait runs in the async context of whatever returns its connection: another request, with
 * another tenant and trace.
 */
function keepContext(pool: pg.Pool): void {
  const connect = pool.connect.bind(pool) as (callback?: (...args: unknown[]) => void) => unknown;
  pool.connect = ((callback?: (...args: unknown[]) => void) =>
    connect(callback && AsyncResource.bind(callback))) as typeof pool.connect;
}

/** Whether this login may switch to the HTTP process's role. */
export async function hasApiRole(databaseUrl: string): Promise<boolean> {
  return await withConnection(databaseUrl, "api-role", async (client) => {
    const { rows } = await client.query(
      `SELECT pg_has_role(oid, 'MEMBER') AND has_schema_privilege(oid, 'service', 'USAGE') AS usable
       FROM pg_roles WHERE rolname = $1`,
      [apiRole],
    );
    return rows[0]?.usable === true;
  });
}

export function createDatabase(pool: PostgresPool): Kysely<Database> {
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
}
