-- The database rights of an installation. An administrator (superuser) runs it once, and may run it again:
--   psql -U postgres -v password="$SERVICE_PASSWORD" -f deploy/roles.sql
-- Made from schema/analyst-admin.ts (npm run generate).
\set ON_ERROR_STOP on

-- The service's login: owner of its database, and nothing else.
DO $$ BEGIN CREATE ROLE mintyard; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
ALTER ROLE mintyard LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD :'password';
SELECT 'CREATE DATABASE mintyard OWNER mintyard' WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'mintyard') \gexec
\connect mintyard

-- The role of requests (mintyard_api) and that of analysts, whose logins the service makes by two functions of the
-- administrator's. The signer has no login: it needs no database.
DO $$ BEGIN CREATE ROLE mintyard_analyst NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
ALTER ROLE mintyard_analyst SET default_transaction_read_only = 'on';
ALTER ROLE mintyard_analyst SET statement_timeout = '30s';
ALTER ROLE mintyard_analyst SET lock_timeout = '2s';
ALTER ROLE mintyard_analyst SET idle_in_transaction_session_timeout = '30s';
ALTER ROLE mintyard_analyst SET idle_session_timeout = '30min';
ALTER ROLE mintyard_analyst SET work_mem = '16MB';
ALTER ROLE mintyard_analyst SET hash_mem_multiplier = '1';
ALTER ROLE mintyard_analyst SET logical_decoding_work_mem = '1MB';
ALTER ROLE mintyard_analyst SET temp_buffers = '1MB';
ALTER ROLE mintyard_analyst SET max_parallel_workers_per_gather = '2';
ALTER ROLE mintyard_analyst SET search_path = 'analytics';
ALTER ROLE mintyard_analyst SET TimeZone = 'UTC';
ALTER ROLE mintyard_analyst SET temp_file_limit = '4GB';
DO $$ BEGIN
      EXECUTE format('GRANT CREATE, TEMPORARY ON DATABASE %I TO "mintyard"', current_database());
      EXECUTE format('REVOKE CREATE, TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
    END $$;
DO $$ BEGIN
      GRANT ALL ON SCHEMA public TO "mintyard";
      REVOKE ALL ON SCHEMA public FROM PUBLIC;
    END $$;
DO $$ DECLARE f regprocedure; BEGIN
      FOR f IN SELECT p.oid::regprocedure FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND (
  p.proname ~ '^(lo_|pg_advisory_|pg_try_advisory_)'
  OR p.proname IN ('loread', 'lowrite', 'pg_logical_emit_message', 'pg_notify', 'pg_export_snapshot',
    'txid_current', 'pg_current_xact_id', 'pg_sleep', 'pg_sleep_for', 'pg_sleep_until')) LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO "mintyard"', f);
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f);
      END LOOP;
    END $$;
DO $$ BEGIN
      GRANT USAGE ON LANGUAGE plpgsql TO "mintyard";
      REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC;
    END $$;
DO $$ BEGIN CREATE ROLE mintyard_api NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
GRANT mintyard_api TO "mintyard";
DO $$ BEGIN IF to_regproc('service.grant_api') IS NOT NULL THEN PERFORM service.grant_api(); END IF; END $$;
CREATE SCHEMA IF NOT EXISTS mintyard_admin;
CREATE OR REPLACE FUNCTION mintyard_admin.create_analyst(name text, verifier text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  DECLARE made boolean := false;
    login text := 'mintyard_analyst_' || name;
  BEGIN
    IF name !~ '^[a-z][a-z0-9_]{0,40}$' THEN RAISE EXCEPTION 'not a name of an analyst' USING ERRCODE = '22023'; END IF;
    -- A verifier holds no password; another form would be one in plain text.
    IF verifier !~ '^SCRAM-SHA-256\$[0-9]+:[A-Za-z0-9+/=]+\$[A-Za-z0-9+/=]+:[A-Za-z0-9+/=]+$' THEN
      RAISE EXCEPTION 'not a SCRAM verifier' USING ERRCODE = '22023';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = login) THEN
      EXECUTE format('CREATE ROLE %I', login);
      made := true;
    END IF;
    EXECUTE format('ALTER ROLE %I LOGIN CONNECTION LIMIT 5 PASSWORD %L', login, verifier);
    EXECUTE format('GRANT mintyard_analyst TO %I', login);
    -- So that the service can end an analyst's session that hinders it.
    EXECUTE format('GRANT %I TO %I', login, session_user)
      || CASE WHEN current_setting('server_version_num')::int >= 160000 THEN ' WITH INHERIT TRUE, SET FALSE' ELSE '' END;
    EXECUTE format('ALTER ROLE %I SET default_transaction_read_only = ''on''', login);
    EXECUTE format('ALTER ROLE %I SET statement_timeout = ''30s''', login);
    EXECUTE format('ALTER ROLE %I SET lock_timeout = ''2s''', login);
    EXECUTE format('ALTER ROLE %I SET idle_in_transaction_session_timeout = ''30s''', login);
    EXECUTE format('ALTER ROLE %I SET idle_session_timeout = ''30min''', login);
    EXECUTE format('ALTER ROLE %I SET work_mem = ''16MB''', login);
    EXECUTE format('ALTER ROLE %I SET hash_mem_multiplier = ''1''', login);
    EXECUTE format('ALTER ROLE %I SET logical_decoding_work_mem = ''1MB''', login);
    EXECUTE format('ALTER ROLE %I SET temp_buffers = ''1MB''', login);
    EXECUTE format('ALTER ROLE %I SET max_parallel_workers_per_gather = ''2''', login);
    EXECUTE format('ALTER ROLE %I SET search_path = ''analytics''', login);
    EXECUTE format('ALTER ROLE %I SET TimeZone = ''UTC''', login);
    BEGIN
    EXECUTE format('ALTER ROLE %I SET temp_file_limit = ''4GB''', login);
    EXCEPTION WHEN insufficient_privilege THEN NULL; -- An administrator without a superuser's rights.
    END;
    RETURN made;
  END $$;
CREATE OR REPLACE FUNCTION mintyard_admin.drop_analyst(name text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  DECLARE
    login text := 'mintyard_analyst_' || name;
  BEGIN
    IF name !~ '^[a-z][a-z0-9_]{0,40}$' THEN RAISE EXCEPTION 'not a name of an analyst' USING ERRCODE = '22023'; END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = login) THEN RETURN false; END IF;
    EXECUTE format('ALTER ROLE %I NOLOGIN', login);
    PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = login;
    EXECUTE format('DROP ROLE %I', login);
    RETURN true;
  END $$;
REVOKE ALL ON SCHEMA mintyard_admin FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA mintyard_admin FROM PUBLIC;
GRANT USAGE ON SCHEMA mintyard_admin TO "mintyard";
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA mintyard_admin TO "mintyard";
