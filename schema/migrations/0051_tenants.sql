-- A second wall between tenants: the HTTP process works under a role that sees the rows of one account
-- only, the one it names in app.tenant. Use cases ask for their account's rows as well; this holds where
-- one forgets to.
--
-- Roles belong to the whole cluster and may not be ours to make (a managed database): then the process
-- runs under its login, and the operator makes the role as docs/operations.md says.
DO $$
BEGIN
  CREATE ROLE mintyard_api NOLOGIN;
EXCEPTION WHEN duplicate_object OR unique_violation OR insufficient_privilege THEN NULL;
END $$;

CREATE FUNCTION service.grant_api() RETURNS boolean LANGUAGE plpgsql SET search_path = '' AS $$
DECLARE
  place record;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'mintyard_api') THEN RETURN false; END IF;
  GRANT USAGE ON SCHEMA service TO mintyard_api;
  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA service TO mintyard_api;
  GRANT USAGE ON ALL SEQUENCES IN SCHEMA service TO mintyard_api;
  -- Migrations to come, and the index's views, which are made anew with each deployment of the index.
  ALTER DEFAULT PRIVILEGES IN SCHEMA service GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO mintyard_api;
  ALTER DEFAULT PRIVILEGES IN SCHEMA service GRANT USAGE ON SEQUENCES TO mintyard_api;
  ALTER DEFAULT PRIVILEGES GRANT USAGE ON SCHEMAS TO mintyard_api;
  ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO mintyard_api;
  FOR place IN SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname IN ('nft', 'analytics') LOOP
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO mintyard_api', place.nspname);
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO mintyard_api', place.nspname);
  END LOOP;
  -- Evidence is added to, never changed; plans and prices are the operator's.
  REVOKE UPDATE, DELETE ON service.attempt, service.attempt_event, service.audit_log FROM mintyard_api;
  REVOKE INSERT, UPDATE, DELETE ON service.plan, service.price, service.migration, service.charge FROM mintyard_api;
  RETURN true;
END $$;
SELECT service.grant_api();

CREATE FUNCTION service.tenant() RETURNS uuid LANGUAGE sql STABLE SET search_path = '' AS $$
  SELECT nullif(current_setting('app.tenant', true), '')::uuid
$$;

DO $$
DECLARE
  owned record;
BEGIN
  FOR owned IN SELECT * FROM (VALUES ('account', 'id'), ('api_key', 'account_id'), ('key_secret', 'account_id'),
      ('usage_month', 'account_id'), ('charge', 'account_id'), ('upload', 'account_id'), ('intent', 'tenant_id'),
      ('self_deployment', 'tenant_id'))
      AS t (relation, owner) LOOP
    EXECUTE format('ALTER TABLE service.%I ENABLE ROW LEVEL SECURITY', owned.relation);
    -- For everyone who is bound by policies at all: the owner of the tables, who migrates and runs the
    -- background processes, is not.
    EXECUTE format('CREATE POLICY tenant ON service.%I USING (%I = (SELECT service.tenant())) WITH CHECK (%I = (SELECT service.tenant()))',
      owned.relation, owned.owner, owned.owner);
  END LOOP;
END $$;
