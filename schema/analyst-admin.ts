import {
  analystConnectionLimit,
  analystRole,
  analystSettings,
  analystSuperuserSettings,
  closures,
  settingStatements,
} from "./analyst-role.ts";

/** The role that the HTTP process works under; row-level security holds for it. */
const apiRole = "mintyard_api";

/** Where an administrator lends the service the two things that it may not do itself. */
export const administratorSchema = "mintyard_admin";

/** What an analyst is called in a login's name. */
export const analystNamePattern = "^[a-z][a-z0-9_]{0,40}$";

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

function settings(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(
      ([name, value]) => `EXECUTE format('ALTER ROLE %I SET ${name} = ${quoted(quoted(value)).slice(1, -1)}', login);`,
    )
    .join("\n    ");
}

/**
 * Functions with the rights of the administrator who makes them, and no more use than their name says: they make and
 * remove logins `mintyard_analyst_<name>`, whose only role is that of analysts. With them the service's user needs
 * no right to make roles, which on PostgreSQL 15 would be the right to change almost any of them.
 *
 * @param serviceUser quoted; the only one who may call them.
 */
function administratorFunctions(serviceUser: string): string[] {
  const head = "RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$";
  const checkedName = `
    login text := '${analystRole}_' || name;
  BEGIN
    IF name !~ ${quoted(analystNamePattern)} THEN RAISE EXCEPTION 'not a name of an analyst' USING ERRCODE = '22023'; END IF;`;
  return [
    `CREATE SCHEMA IF NOT EXISTS ${administratorSchema}`,
    `CREATE OR REPLACE FUNCTION ${administratorSchema}.create_analyst(name text, verifier text) ${head}
  DECLARE made boolean := false;${checkedName}
    -- A verifier holds no password; another form would be one in plain text.
    IF verifier !~ '^SCRAM-SHA-256\\$[0-9]+:[A-Za-z0-9+/=]+\\$[A-Za-z0-9+/=]+:[A-Za-z0-9+/=]+$' THEN
      RAISE EXCEPTION 'not a SCRAM verifier' USING ERRCODE = '22023';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = login) THEN
      EXECUTE format('CREATE ROLE %I', login);
      made := true;
    END IF;
    EXECUTE format('ALTER ROLE %I LOGIN CONNECTION LIMIT ${analystConnectionLimit} PASSWORD %L', login, verifier);
    EXECUTE format('GRANT ${analystRole} TO %I', login);
    -- So that the service can end an analyst's session that hinders it.
    EXECUTE format('GRANT %I TO %I', login, session_user)
      || CASE WHEN current_setting('server_version_num')::int >= 160000 THEN ' WITH INHERIT TRUE, SET FALSE' ELSE '' END;
    ${settings(analystSettings)}
    BEGIN
    ${settings(analystSuperuserSettings)}
    EXCEPTION WHEN insufficient_privilege THEN NULL; -- An administrator without a superuser's rights.
    END;
    RETURN made;
  END $$`,
    `CREATE OR REPLACE FUNCTION ${administratorSchema}.drop_analyst(name text) ${head}
  DECLARE${checkedName}
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = login) THEN RETURN false; END IF;
    EXECUTE format('ALTER ROLE %I NOLOGIN', login);
    PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = login;
    EXECUTE format('DROP ROLE %I', login);
    RETURN true;
  END $$`,
    `REVOKE ALL ON SCHEMA ${administratorSchema} FROM PUBLIC`,
    `REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ${administratorSchema} FROM PUBLIC`,
    `GRANT USAGE ON SCHEMA ${administratorSchema} TO ${serviceUser}`,
    `GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${administratorSchema} TO ${serviceUser}`,
  ];
}

/**
 * Everything a database administrator has to run once where the service's own user may not: in the
 * service's database, as superuser. It may be run again.
 *
 * @param serviceUser the user of DATABASE_URL, which keeps what PUBLIC loses.
 */
export function administratorScript(serviceUser: string): string {
  const user = `"${serviceUser.replaceAll('"', '""')}"`;
  const statements = [
    `DO $$ BEGIN CREATE ROLE ${analystRole} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$`,
    ...settingStatements(analystRole, { ...analystSettings, ...analystSuperuserSettings }),
    ...closures.map(({ close }) => close.replaceAll("CURRENT_USER", user)),
    `DO $$ BEGIN CREATE ROLE ${apiRole} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$`,
    `GRANT ${apiRole} TO ${user}`,
    // Before the service's first start there is nothing to grant; its migrations do it.
    `DO $$ BEGIN IF to_regproc('service.grant_api') IS NOT NULL THEN PERFORM service.grant_api(); END IF; END $$`,
    ...administratorFunctions(user),
  ];
  return `${statements.join(";\n")};\n`;
}

/**
 * deploy/roles.sql: everything that an administrator gives a new installation, for psql. The login owns its database and may
 * make no role; the signer gets no login, because it needs no database.
 */
export function rolesFile(): string {
  return `-- The database rights of an installation. An administrator (superuser) runs it once, and may run it again:
--   psql -U postgres -v password="$SERVICE_PASSWORD" -f deploy/roles.sql
-- Made from schema/analyst-admin.ts (npm run generate).
\\set ON_ERROR_STOP on

-- The service's login: owner of its database, and nothing else.
DO $$ BEGIN CREATE ROLE mintyard; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
ALTER ROLE mintyard LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD :'password';
SELECT 'CREATE DATABASE mintyard OWNER mintyard' WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'mintyard') \\gexec
\\connect mintyard

-- The role of requests (mintyard_api) and that of analysts, whose logins the service makes by two functions of the
-- administrator's. The signer has no login: it needs no database.
${administratorScript("mintyard")}`;
}
