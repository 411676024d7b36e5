-- What an account may keep on the disk, and how many of its uploads run at once. Null: no limit.
ALTER TABLE service.plan
  ADD COLUMN storage_bytes bigint CHECK (storage_bytes >= 0),
  ADD COLUMN uploads_at_once integer CHECK (uploads_at_once > 0);
UPDATE service.plan SET storage_bytes = 1073741824, uploads_at_once = 4 WHERE tier = 'free';
UPDATE service.plan SET storage_bytes = 26843545600, uploads_at_once = 8 WHERE tier = 'growth';
UPDATE service.plan SET storage_bytes = 268435456000, uploads_at_once = 32 WHERE tier = 'scale';

-- What each account keeps: its uploads' sizes, the same content counted once. Kept by a trigger, because only the
-- transaction that adds an upload can count exactly.
CREATE TABLE service.account_storage (
  account_id uuid PRIMARY KEY REFERENCES service.account (id),
  bytes bigint NOT NULL CHECK (bytes >= 0)
);
INSERT INTO service.account_storage (account_id, bytes)
  SELECT account_id, sum(size) FROM (
    SELECT account_id, cid, max(size) AS size FROM service.upload GROUP BY account_id, cid) AS kept
  GROUP BY account_id;

-- The row is taken before anything is counted, so that two uploads of one account see each other. Definer's rights:
-- the role of the HTTP process may not write what is counted here.
CREATE FUNCTION service.count_storage() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  most bigint;
  used bigint;
BEGIN
  INSERT INTO service.account_storage AS s (account_id, bytes) VALUES (NEW.account_id, 0)
    ON CONFLICT (account_id) DO UPDATE SET bytes = s.bytes;
  IF EXISTS (SELECT FROM service.upload u
             WHERE u.cid = NEW.cid AND u.account_id = NEW.account_id AND u.id <> NEW.id) THEN
    RETURN NULL;
  END IF;
  UPDATE service.account_storage s SET bytes = s.bytes + NEW.size WHERE s.account_id = NEW.account_id
    RETURNING s.bytes INTO used;
  SELECT p.storage_bytes INTO most
    FROM service.account a JOIN service.plan p ON p.tier = a.tier WHERE a.id = NEW.account_id;
  IF used > most THEN
    RAISE EXCEPTION 'your plan keeps % bytes, and this upload would make it %', most, used USING ERRCODE = 'MY001';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER upload_count AFTER INSERT ON service.upload FOR EACH ROW EXECUTE FUNCTION service.count_storage();

ALTER TABLE service.account_storage ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON service.account_storage USING (account_id = (SELECT service.tenant()))
  WITH CHECK (account_id = (SELECT service.tenant()));
CREATE OR REPLACE FUNCTION service.grant_api() RETURNS boolean LANGUAGE plpgsql SET search_path = '' AS $$
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
  -- Evidence is added to, never changed; plans and prices are the operator's; what is kept is counted by a trigger.
  REVOKE UPDATE, DELETE ON service.attempt, service.attempt_event, service.audit_log FROM mintyard_api;
  REVOKE INSERT, UPDATE, DELETE ON service.plan, service.price, service.migration, service.charge, service.account_storage
    FROM mintyard_api;
  RETURN true;
END $$;
SELECT service.grant_api();
