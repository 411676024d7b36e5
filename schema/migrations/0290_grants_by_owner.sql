-- Default privileges hold for what one role makes. An administrator who called this function gave them for objects of
-- its own, and the index's views, which the service's login makes, stayed closed to the API. They are given for the
-- owner of the schema now, whoever calls it.
CREATE OR REPLACE FUNCTION service.grant_api() RETURNS boolean LANGUAGE plpgsql SET search_path = '' AS $$
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
