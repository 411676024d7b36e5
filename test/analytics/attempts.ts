/** One attempt of an analyst to write, to escape or to hinder. */
export interface Attempt {
  name: string;
  /** `{victim}`: process id of a session of the service; `{self}`: the analyst's own role. */
  sql: string;
  /** SQLSTATE that refuses the analyst; 42501, insufficient privilege, unless said. */
  refusal?: string;
  /** What the owner of the database gets for the same; success unless said. */
  owner?: string;
  /** Cannot run in a transaction; this undoes it for the owner. */
  undo?: string;
}

const attempt = (name: string, sql: string, rest: Omit<Attempt, "name" | "sql"> = {}): Attempt => ({
  name,
  sql,
  ...rest,
});

const select = ["account", "key_secret", "intent", "attempt", "allowlist", "upload", "token_metadata", "migration"];

const readingElsewhere: Attempt[] = [
  ...select.map((table) => attempt(`reads service.${table}`, `SELECT * FROM service.${table}`)),
  attempt("reads a view of nft", "SELECT * FROM nft.tokens"),
  attempt("reads the record of deployments", "SELECT * FROM nft.index_version"),
  attempt("reads a chain's ledger", "SELECT * FROM c1_test.transfer"),
  attempt("reads a chain's derived state", "SELECT * FROM c1_test.token"),
  attempt("reads Ponder's cache", "SELECT * FROM ponder_sync.logs"),
  attempt("explains a query on another schema", "EXPLAIN SELECT * FROM service.account"),
  attempt("copies a table out", "COPY service.account TO STDOUT"),
  attempt("reads password digests", "SELECT * FROM pg_authid"),
  attempt("reads password digests through pg_shadow", "SELECT * FROM pg_shadow"),
  attempt("reads sampled values", "SELECT * FROM pg_statistic"),
  attempt("reads large objects as a table", "SELECT * FROM pg_largeobject"),
  attempt("reads the authentication rules", "SELECT * FROM pg_hba_file_rules"),
  attempt("reads the configuration files", "SELECT * FROM pg_file_settings"),
  attempt(
    "reads through a function that runs text",
    "SELECT query_to_xml('SELECT * FROM service.account', true, true, '')",
  ),
  attempt("reads a file", "SELECT pg_read_file('PG_VERSION')"),
  attempt("reads a file as bytes", "SELECT pg_read_binary_file('PG_VERSION')"),
  attempt("lists a folder", "SELECT pg_ls_dir('.')"),
  attempt("asks for a file's size", "SELECT pg_stat_file('PG_VERSION')"),
  attempt("lists the write-ahead log", "SELECT pg_ls_waldir()"),
];

const writing: Attempt[] = [
  attempt("inserts into a ledger", "INSERT INTO c1_test.transfer SELECT * FROM c1_test.transfer WHERE false"),
  attempt("updates derived state", "UPDATE c1_test.token SET last_to = last_to"),
  attempt("deletes from a ledger", "DELETE FROM c1_test.transfer"),
  attempt("truncates derived state", "TRUNCATE c1_test.holding"),
  attempt("gives itself a tier", "UPDATE service.account SET tier = 'enterprise'"),
  attempt("makes an account", "INSERT INTO service.account (name, tier) VALUES ('x', 'free')"),
  attempt("deletes uploads", "DELETE FROM service.upload"),
  attempt(
    "merges into a table",
    "MERGE INTO service.relayer_wallet l USING (SELECT 1) s ON false WHEN MATCHED THEN DELETE",
  ),
  attempt("forgets a migration", "DELETE FROM service.migration"),
  attempt("inserts into a view of analytics", "INSERT INTO analytics.chains VALUES (1, 2, now())", {
    refusal: "0A000",
    owner: "0A000",
  }),
  attempt("deletes from a view of analytics", "DELETE FROM analytics.holdings", { refusal: "55000", owner: "55000" }),
  attempt("copies rows in from a file", "COPY service.account FROM '/dev/null'"),
  attempt("copies rows in from a program", "COPY service.account FROM PROGRAM 'true'"),
  attempt("writes a file", "COPY (SELECT 1) TO '/dev/null'"),
  attempt("runs a program", "COPY (SELECT 1) TO PROGRAM 'cat >/dev/null'"),
  attempt("selects into a table", "SELECT 1 AS a INTO analytics.taken"),
  attempt("advances a sequence", "SELECT nextval('service.car_id_seq')"),
  attempt("sets a sequence", "SELECT setval('service.car_id_seq', 1)"),
  attempt("imports a large object", "SELECT lo_import('/dev/null')"),
  attempt("exports a large object", "SELECT lo_export(1, '/dev/null')", { owner: "42704" }),
  attempt("creates a large object", "SELECT lo_create(0)"),
  attempt("creates a large object the old way", "SELECT lo_creat(-1)"),
  attempt("creates a large object from bytes", "SELECT lo_from_bytea(0, 'x')"),
  attempt("writes into a large object", "SELECT lo_put(1, 0, 'x')", { owner: "42704" }),
  attempt("removes a large object", "SELECT lo_unlink(1)", { owner: "42704" }),
];

const creating: Attempt[] = [
  attempt("creates a temporary table", "CREATE TEMP TABLE t (a int)"),
  attempt("creates a temporary table from a query", "CREATE TEMP TABLE t AS SELECT 1"),
  attempt("creates a temporary view", "CREATE TEMP VIEW t AS SELECT 1"),
  attempt("creates a temporary sequence", "CREATE TEMP SEQUENCE t"),
  attempt(
    "creates a function in the temporary schema",
    "CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
  ),
  attempt("creates a table in analytics", "CREATE TABLE analytics.t (a int)"),
  attempt("creates a table in public", "CREATE TABLE public.t (a int)"),
  attempt("creates a table in service", "CREATE TABLE service.t (a int)"),
  attempt("creates a view", "CREATE VIEW analytics.t AS SELECT 1"),
  attempt("replaces a view", "CREATE OR REPLACE VIEW analytics.version AS SELECT 1 AS version"),
  attempt("creates a materialised view", "CREATE MATERIALIZED VIEW analytics.t AS SELECT 1"),
  attempt("creates a function", "CREATE FUNCTION analytics.f() RETURNS int LANGUAGE sql AS 'SELECT 1'"),
  attempt(
    "creates a function in PL/pgSQL",
    "CREATE FUNCTION analytics.f() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'",
  ),
  attempt("creates a procedure", "CREATE PROCEDURE analytics.p() LANGUAGE sql AS 'SELECT 1'"),
  attempt("creates an aggregate", "CREATE AGGREGATE analytics.a(int) (sfunc = int4pl, stype = int)"),
  attempt("creates an operator", "CREATE OPERATOR analytics.=== (leftarg = int, rightarg = int, function = int4eq)"),
  attempt("creates a type", "CREATE TYPE analytics.ty AS (a int)"),
  attempt("creates a domain", "CREATE DOMAIN analytics.d AS int"),
  attempt("creates a sequence", "CREATE SEQUENCE analytics.s"),
  attempt("creates a collation", 'CREATE COLLATION analytics.c FROM "C"'),
  attempt("creates a schema", "CREATE SCHEMA taken"),
  attempt("creates an extension", "CREATE EXTENSION dblink"),
  attempt("creates a cast", "CREATE CAST (bytea AS point) WITHOUT FUNCTION", { owner: "42P17" }),
  attempt("creates a language", "CREATE LANGUAGE l HANDLER plpgsql_call_handler"),
  attempt("creates a role", "CREATE ROLE taken"),
  attempt("creates a database", "CREATE DATABASE {self}_db", { undo: "DROP DATABASE {self}_db" }),
  attempt("creates a tablespace", "CREATE TABLESPACE t LOCATION '/nowhere'", { undo: "SELECT 1", owner: "58P01" }),
  attempt("creates a foreign-data wrapper", "CREATE FOREIGN DATA WRAPPER f"),
  attempt("creates a publication", "CREATE PUBLICATION p"),
  attempt("creates a publication of everything", "CREATE PUBLICATION p FOR ALL TABLES"),
  attempt("creates a subscription", "CREATE SUBSCRIPTION s CONNECTION 'dbname=x' PUBLICATION p WITH (connect = false)"),
  attempt("creates an index", "CREATE INDEX ON c1_test.transfer (operator)"),
  attempt(
    "creates a trigger",
    "CREATE TRIGGER t AFTER INSERT ON service.account EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    {
      owner: "ok",
    },
  ),
  attempt("creates a rule", "CREATE RULE r AS ON INSERT TO service.account DO INSTEAD NOTHING"),
  attempt("creates a policy", "CREATE POLICY p ON service.account"),
  attempt("creates statistics", "CREATE STATISTICS analytics.s ON chain_id, contract FROM service.token_metadata"),
];

const changing: Attempt[] = [
  attempt("renames a view", "ALTER VIEW analytics.tokens RENAME TO t"),
  attempt("takes the barrier from a view", "ALTER VIEW analytics.metadata RESET (security_barrier)"),
  attempt("alters a table", "ALTER TABLE service.account ADD COLUMN x int"),
  attempt("alters the function", "ALTER FUNCTION analytics.holdings_at SECURITY DEFINER"),
  attempt("becomes a superuser", "ALTER ROLE {self} SUPERUSER"),
  attempt("lets itself create databases", "ALTER ROLE {self} CREATEDB"),
  attempt("lifts its connection limit", "ALTER ROLE {self} CONNECTION LIMIT -1"),
  attempt("loosens the group", "ALTER ROLE mintyard_analyst SET statement_timeout = 0"),
  attempt("alters the database", "ALTER DATABASE {database} SET work_mem = '1GB'"),
  attempt("alters the server", "ALTER SYSTEM SET work_mem = '1GB'", { undo: "ALTER SYSTEM RESET work_mem" }),
  attempt(
    "alters others' default privileges",
    "ALTER DEFAULT PRIVILEGES FOR ROLE postgres GRANT SELECT ON TABLES TO PUBLIC",
  ),
  attempt("grants itself a table", "GRANT SELECT ON service.account TO {self}"),
  attempt("grants itself a schema", "GRANT USAGE ON SCHEMA service TO {self}"),
  attempt("grants itself a role", "GRANT pg_read_all_data TO {self}"),
  attempt("takes over a view", "ALTER VIEW analytics.tokens OWNER TO {self}"),
  attempt("comments a view", "COMMENT ON VIEW analytics.tokens IS 'x'"),
  attempt("drops a view", "DROP VIEW analytics.tokens"),
  attempt("drops a schema", "DROP SCHEMA analytics CASCADE"),
  attempt("drops a table", "DROP TABLE service.chain_reorg"),
  attempt("drops the group", "DROP ROLE mintyard_analyst", { owner: "2BP01" }),
  attempt("rebuilds an index", "REINDEX TABLE service.account"),
];

const becoming: Attempt[] = [
  attempt("becomes the owner", "SET ROLE postgres"),
  attempt("becomes the owner by function", "SELECT set_config('role', 'postgres', false)"),
  attempt("becomes a role that reads everything", "SET ROLE pg_read_all_data"),
  attempt("becomes a role that runs programs", "SET ROLE pg_execute_server_program"),
  attempt("changes the session's user", "SET SESSION AUTHORIZATION postgres"),
  attempt("turns triggers off", "SET session_replication_role = replica"),
  attempt("hides its statements from the log", "SET log_statement = none"),
  attempt("lifts the limit on temporary files", "SET temp_file_limit = -1"),
  attempt("loads a library", "LOAD '/nowhere'", { owner: "58P01" }),
  attempt("runs a DO block", "DO $$ BEGIN END $$"),
];

const hindering: Attempt[] = [
  attempt("takes the lock of the migrations", "SELECT pg_advisory_lock(7241903155)"),
  attempt("tries for a lock", "SELECT pg_try_advisory_lock(1)"),
  attempt("tries for a chain's lock", "SELECT pg_try_advisory_lock(724190, 1)"),
  attempt("takes a lock for a transaction", "SELECT pg_advisory_xact_lock(7241903156)"),
  attempt("takes a shared lock", "SELECT pg_try_advisory_lock_shared(1)"),
  attempt("locks a table", "LOCK TABLE service.account IN ACCESS SHARE MODE"),
  attempt("locks a view against readers", "LOCK TABLE analytics.tokens IN ACCESS EXCLUSIVE MODE"),
  attempt("ends a session of the service", "SELECT pg_terminate_backend({victim})"),
  attempt("cancels a query of the service", "SELECT pg_cancel_backend({victim})"),
  attempt("sends a notification by function", "SELECT pg_notify('x', 'y')"),
  attempt("writes into the log of changes", "SELECT pg_logical_emit_message(false, 'x', 'y')"),
  attempt("exports a snapshot", "SELECT pg_export_snapshot()"),
  attempt("reloads the configuration", "SELECT pg_reload_conf()"),
  attempt("rotates the log", "SELECT pg_rotate_logfile()"),
  attempt("switches the write-ahead log", "SELECT pg_switch_wal()"),
  attempt("sets a restore point", "SELECT pg_create_restore_point('x')"),
  attempt("begins a backup", "SELECT pg_backup_start('x')", { undo: "SELECT pg_backup_stop(false)" }),
  attempt("resets the statistics", "SELECT pg_stat_reset()"),
  attempt("creates a replication slot", "SELECT pg_create_physical_replication_slot('{self}')", {
    undo: "SELECT pg_drop_replication_slot('{self}')",
  }),
  attempt("uses up transaction ids", "SELECT txid_current()"),
  attempt("uses up transaction ids by their new name", "SELECT pg_current_xact_id()"),
  attempt("pauses within a transaction", "SELECT pg_sleep(0)"),
  attempt("pauses by an interval", "SELECT pg_sleep_for('0 s')"),
  attempt(
    "counts beyond the time-out",
    "SET LOCAL statement_timeout = '150ms';\nSELECT count(*) FROM generate_series(1, 1000000000000)",
    {
      refusal: "57014",
      owner: "57014",
    },
  ),
];

export const attempts: readonly Attempt[] = [
  ...readingElsewhere,
  ...writing,
  ...creating,
  ...changing,
  ...becoming,
  ...hindering,
];
