-- A second wall between tenants: the HTTP process works under a role that sees the rows of one account only, the one it
-- names in app.tenant. Use cases ask for their account's rows as well; this holds where one forgets to.
--
-- Roles belong to the whole cluster and may not be ours to make (a managed database): then the process runs under its
-- login, and the operator makes the role as docs/operations.md says.
DO $$
BEGIN
  CREATE ROLE mintyard_api NOLOGIN;
EXCEPTION WHEN duplicate_object OR unique_violation OR insufficient_privilege THEN NULL;
END $$;

-- The policies are for everyone who is bound by policies at all: the owner of the tables, who migrates and runs the
-- background processes, is not.
DO $$
DECLARE
  owned record;
BEGIN
  FOR owned IN SELECT * FROM (VALUES ('account', 'id'), ('api_key', 'account_id'), ('key_secret', 'account_id'),
      ('usage_month', 'account_id'), ('charge', 'account_id'), ('upload', 'account_id'), ('account_storage', 'account_id'),
      ('intent', 'tenant_id'), ('self_deployment', 'tenant_id'))
      AS t (relation, owner) LOOP
    EXECUTE format('ALTER TABLE service.%I ENABLE ROW LEVEL SECURITY', owned.relation);
    EXECUTE format('CREATE POLICY tenant ON service.%I USING (%I = (SELECT service.tenant())) WITH CHECK (%I = (SELECT service.tenant()))',
      owned.relation, owned.owner, owned.owner);
  END LOOP;
END $$;

-- Any account may ask whether a wallet is on any collection's list, so all may be read; each account adds its own only,
-- and the HTTP process changes none.
ALTER TABLE service.allowlist ENABLE ROW LEVEL SECURITY;
CREATE POLICY everybody ON service.allowlist FOR SELECT USING (true);
CREATE POLICY tenant ON service.allowlist FOR INSERT WITH CHECK (tenant_id = (SELECT service.tenant()));

-- Without a policy nobody but the owner reads or writes it, whatever rights the HTTP process is given on all tables.
ALTER TABLE service.last_backup ENABLE ROW LEVEL SECURITY;

-- Rights of the HTTP process's role. An operator calls it again after making the role. Default privileges hold for what
-- one role makes: they are given for the owner of the schema, whoever calls this.
CREATE FUNCTION service.grant_api() RETURNS boolean LANGUAGE plpgsql SET search_path = '' AS $$
DECLARE
  place record;
  owner name := (SELECT pg_catalog.pg_get_userbyid(nspowner) FROM pg_catalog.pg_namespace WHERE nspname = 'service');
BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'mintyard_api') THEN RETURN false; END IF;
  GRANT USAGE ON SCHEMA service TO mintyard_api;
  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA service TO mintyard_api;
  GRANT USAGE ON ALL SEQUENCES IN SCHEMA service TO mintyard_api;
  -- Migrations to come, and the index's views, which are made anew with each deployment of the index.
  EXECUTE format('ALTER DEFAULT PRIVILEGES FOR ROLE %I IN SCHEMA service GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO mintyard_api', owner);
  EXECUTE format('ALTER DEFAULT PRIVILEGES FOR ROLE %I IN SCHEMA service GRANT USAGE ON SEQUENCES TO mintyard_api', owner);
  EXECUTE format('ALTER DEFAULT PRIVILEGES FOR ROLE %I GRANT USAGE ON SCHEMAS TO mintyard_api', owner);
  EXECUTE format('ALTER DEFAULT PRIVILEGES FOR ROLE %I GRANT SELECT ON TABLES TO mintyard_api', owner);
  FOR place IN SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname IN ('nft', 'analytics') LOOP
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO mintyard_api', place.nspname);
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO mintyard_api', place.nspname);
  END LOOP;
  -- Evidence is added to, never changed; plans and prices are the operator's; what is kept is counted by a trigger.
  REVOKE UPDATE, DELETE ON service.attempt, service.attempt_event, service.audit_log FROM mintyard_api;
  REVOKE INSERT, UPDATE, DELETE ON service.plan, service.price, service.migration, service.charge, service.account_storage
    FROM mintyard_api;
  REVOKE ALL ON service.intent_history FROM mintyard_api;
  RETURN true;
END $$;
SELECT service.grant_api();
