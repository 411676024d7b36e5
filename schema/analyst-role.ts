/*
 * The role of analysts. Its wall is made of privileges: SELECT on the views of `analytics`, EXECUTE on
 * `analytics.holdings_at`, and what PostgreSQL gives to PUBLIC taken away where it would let an analyst
 * write or hinder the service. The settings are a guard against accidents: PostgreSQL lets every
 * session change them for itself.
 */
export const analystRole = "mintyard_analyst";

/** For the group role and for each login: settings of a role do not pass to its members. */
export const analystSettings: Readonly<Record<string, string>> = {
  default_transaction_read_only: "on",
  statement_timeout: "30s",
  lock_timeout: "2s",
  idle_in_transaction_session_timeout: "30s",
  idle_session_timeout: "30min",
  // Of each sort and each hash of each of a session's processes.
  work_mem: "16MB",
  hash_mem_multiplier: "1",
  logical_decoding_work_mem: "1MB",
  temp_buffers: "1MB",
  max_parallel_workers_per_gather: "2",
  search_path: "analytics",
  TimeZone: "UTC",
};

/** Only a superuser may set it for others, and no session can change it: a sort cannot fill the disk. */
export const analystSuperuserSettings: Readonly<Record<string, string>> = { temp_file_limit: "4GB" };

export const analystConnectionLimit = 5;

/**
 * Functions that PostgreSQL lets everybody call and analysts must not: large objects are storage,
 * advisory locks can keep the service's processes from starting, transaction ids are few for a whole server, a pause
 * keeps a snapshot for nothing, the others write to the log or to queues.
 */
const closedFunctions = `p.pronamespace = 'pg_catalog'::regnamespace AND (
  p.proname ~ '^(lo_|pg_advisory_|pg_try_advisory_)'
  OR p.proname IN ('loread', 'lowrite', 'pg_logical_emit_message', 'pg_notify', 'pg_export_snapshot',
    'txid_current', 'pg_current_xact_id', 'pg_sleep', 'pg_sleep_for', 'pg_sleep_until'))`;

/**
 * A condition in SQL: true when the user is an analyst and nobody else. Membership without its privileges does not
 * count, for whoever made the logins is a member of them; nor does the service, which is granted them to end their
 * sessions.
 *
 * @param user an expression for the oid of a session's user.
 */
export function isAnalystSql(user: string): string {
  return `(pg_has_role(${user}, (SELECT oid FROM pg_roles WHERE rolname = '${analystRole}'), 'USAGE')
    AND NOT (SELECT rolsuper FROM pg_roles WHERE oid = ${user})
    AND ${user} NOT IN (SELECT nspowner FROM pg_namespace WHERE nspname IN ('service', 'nft', 'analytics'))
    AND ${user} <> (SELECT oid FROM pg_roles WHERE rolname = session_user))`;
}

/** One thing that PUBLIC has by PostgreSQL's defaults and analysts shall not have. */
export interface Closure {
  what: string;
  /** A condition: true while the role $1 still has it. */
  open: string;
  /** Takes it from PUBLIC and keeps it for the user who runs this, that is, for the service. */
  close: string;
}

export const closures: readonly Closure[] = [
  {
    what: "temporary tables and new schemas in this database",
    open: "has_database_privilege($1, current_database(), 'TEMP') OR has_database_privilege($1, current_database(), 'CREATE')",
    close: `DO $$ BEGIN
      EXECUTE format('GRANT CREATE, TEMPORARY ON DATABASE %I TO CURRENT_USER', current_database());
      EXECUTE format('REVOKE CREATE, TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
    END $$`,
  },
  {
    what: "schema public",
    open: "to_regnamespace('public') IS NOT NULL AND (has_schema_privilege($1, to_regnamespace('public'), 'USAGE') OR has_schema_privilege($1, to_regnamespace('public'), 'CREATE'))",
    close: `DO $$ BEGIN
      GRANT ALL ON SCHEMA public TO CURRENT_USER;
      REVOKE ALL ON SCHEMA public FROM PUBLIC;
    END $$`,
  },
  {
    what: "large objects, advisory locks, notifications, transaction ids, pauses and log messages by function",
    open: `EXISTS (SELECT FROM pg_proc p WHERE ${closedFunctions} AND has_function_privilege($1, p.oid, 'EXECUTE'))`,
    close: `DO $$ DECLARE f regprocedure; BEGIN
      FOR f IN SELECT p.oid::regprocedure FROM pg_proc p WHERE ${closedFunctions} LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO CURRENT_USER', f);
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f);
      END LOOP;
    END $$`,
  },
  {
    what: "DO blocks in PL/pgSQL",
    open: "EXISTS (SELECT FROM pg_language WHERE lanname = 'plpgsql' AND has_language_privilege($1, oid, 'USAGE'))",
    close: `DO $$ BEGIN
      GRANT USAGE ON LANGUAGE plpgsql TO CURRENT_USER;
      REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC;
    END $$`,
  },
];

/** ALTER ROLE … SET, one statement per setting. `role` is a quoted identifier. */
export function settingStatements(role: string, settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).map(([name, value]) => `ALTER ROLE ${role} SET ${name} = '${value}'`);
}
