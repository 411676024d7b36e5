-- What an account may keep in the database beside uploads: requests of mode SIGN that wait for their transaction, and
-- presale lists. Null: no limit.
ALTER TABLE service.plan
  ADD COLUMN max_awaited_deployments integer CHECK (max_awaited_deployments >= 0),
  ADD COLUMN max_allowlists integer CHECK (max_allowlists >= 0),
  ADD COLUMN allowlist_bytes bigint CHECK (allowlist_bytes >= 0);
UPDATE service.plan SET max_awaited_deployments = 50, max_allowlists = 100, allowlist_bytes = 16777216 WHERE tier = 'free';
UPDATE service.plan SET max_awaited_deployments = 500, max_allowlists = 1000, allowlist_bytes = 268435456 WHERE tier = 'growth';
UPDATE service.plan SET max_awaited_deployments = 5000, max_allowlists = 10000, allowlist_bytes = 2147483648 WHERE tier = 'scale';

-- Kept by triggers, like the bytes of uploads beside them.
ALTER TABLE service.account_storage
  ADD COLUMN allowlists integer NOT NULL DEFAULT 0 CHECK (allowlists >= 0),
  ADD COLUMN allowlist_bytes bigint NOT NULL DEFAULT 0 CHECK (allowlist_bytes >= 0);

ALTER TABLE service.allowlist
  ADD COLUMN tenant_id uuid REFERENCES service.account (id),
  -- Of its entries; 0 once they were cleared away.
  ADD COLUMN bytes bigint NOT NULL DEFAULT 0 CHECK (bytes >= 0);
UPDATE service.allowlist a SET bytes = octet_length(array_to_string(a.entries, '')),
  tenant_id = coalesce((SELECT i.tenant_id FROM service.intent i WHERE i.id = a.id),
    (SELECT d.tenant_id FROM service.self_deployment d WHERE d.id = a.id));
INSERT INTO service.account_storage AS s (account_id, bytes, allowlists, allowlist_bytes)
  SELECT tenant_id, 0, count(*), sum(bytes) FROM service.allowlist WHERE tenant_id IS NOT NULL GROUP BY tenant_id
  ON CONFLICT (account_id) DO UPDATE SET allowlists = excluded.allowlists, allowlist_bytes = excluded.allowlist_bytes;

CREATE INDEX intent_allowlist ON service.intent (allowlist_id) WHERE allowlist_id IS NOT NULL;
CREATE INDEX self_deployment_allowlist ON service.self_deployment (allowlist_id) WHERE allowlist_id IS NOT NULL;
CREATE INDEX self_deployment_expired ON service.self_deployment (expires_at) WHERE address IS NULL;

CREATE FUNCTION service.measure_allowlist() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $$
BEGIN
  NEW.bytes := octet_length(array_to_string(NEW.entries, ''));
  -- A process of an older version names no account.
  NEW.tenant_id := coalesce(NEW.tenant_id, service.tenant());
  RETURN NEW;
END $$;
CREATE TRIGGER allowlist_measure BEFORE INSERT OR UPDATE ON service.allowlist
  FOR EACH ROW EXECUTE FUNCTION service.measure_allowlist();

-- Definer's rights: the role of the HTTP process may not write what is counted here.
CREATE FUNCTION service.count_allowlist() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  most integer;
  most_bytes bigint;
  used service.account_storage;
  before bigint := CASE TG_OP WHEN 'INSERT' THEN 0 ELSE OLD.bytes END;
  after bigint := CASE TG_OP WHEN 'DELETE' THEN 0 ELSE NEW.bytes END;
  -- A list that was cleared counts no more, whether its row stays or goes.
  more integer := (after > 0)::int - (before > 0)::int;
  owner uuid := CASE TG_OP WHEN 'DELETE' THEN OLD.tenant_id ELSE NEW.tenant_id END;
BEGIN
  IF owner IS NULL OR before = after THEN RETURN NULL; END IF;
  INSERT INTO service.account_storage AS s (account_id, bytes, allowlists, allowlist_bytes)
    VALUES (owner, 0, greatest(more, 0), greatest(after - before, 0))
    ON CONFLICT (account_id) DO UPDATE SET allowlists = greatest(s.allowlists + more, 0),
      allowlist_bytes = greatest(s.allowlist_bytes + after - before, 0)
    RETURNING * INTO used;
  IF TG_OP <> 'INSERT' THEN RETURN NULL; END IF;
  SELECT p.max_allowlists, p.allowlist_bytes INTO most, most_bytes
    FROM service.account a JOIN service.plan p ON p.tier = a.tier WHERE a.id = owner;
  IF used.allowlists > most THEN
    RAISE EXCEPTION 'your plan keeps % presale lists, and this would be one more', most USING ERRCODE = 'MY001';
  END IF;
  IF used.allowlist_bytes > most_bytes THEN
    RAISE EXCEPTION 'your plan keeps % bytes of presale lists, and this one would make it %', most_bytes, used.allowlist_bytes
      USING ERRCODE = 'MY001';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER allowlist_count AFTER INSERT OR UPDATE OR DELETE ON service.allowlist
  FOR EACH ROW EXECUTE FUNCTION service.count_allowlist();

CREATE FUNCTION service.count_awaited() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  most integer;
  awaited integer;
BEGIN
  SELECT p.max_awaited_deployments INTO most
    FROM service.account a JOIN service.plan p ON p.tier = a.tier WHERE a.id = NEW.tenant_id;
  IF most IS NULL THEN RETURN NULL; END IF;
  -- Taken before it is counted, so that two requests of one account see each other.
  INSERT INTO service.account_storage AS s (account_id, bytes) VALUES (NEW.tenant_id, 0)
    ON CONFLICT (account_id) DO UPDATE SET bytes = s.bytes;
  SELECT count(*) INTO awaited FROM service.self_deployment d WHERE d.tenant_id = NEW.tenant_id AND d.address IS NULL;
  IF awaited > most THEN
    RAISE EXCEPTION 'your plan keeps % prepared deployments that were not sent; send some, or wait until they expire', most
      USING ERRCODE = 'MY001';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER self_deployment_count AFTER INSERT ON service.self_deployment
  FOR EACH ROW EXECUTE FUNCTION service.count_awaited();

-- What the watch of the disk asks: the sizes are everybody's, which no account's rows show.
CREATE FUNCTION service.storage_in_use(measure_database boolean, OUT free_bytes bigint, OUT database_bytes bigint)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = '' AS $$
  SELECT (SELECT coalesce(sum(s.bytes + s.allowlist_bytes), 0)::bigint FROM service.account_storage s
      JOIN service.account a ON a.id = s.account_id WHERE a.tier = 'free'),
    CASE WHEN measure_database THEN pg_catalog.pg_database_size(pg_catalog.current_database()) END
$$;

-- Any account may ask whether a wallet is on any collection's list, so all may be read; each account adds its own only,
-- and the HTTP process changes none.
ALTER TABLE service.allowlist ENABLE ROW LEVEL SECURITY;
CREATE POLICY everybody ON service.allowlist FOR SELECT USING (true);
CREATE POLICY tenant ON service.allowlist FOR INSERT WITH CHECK (tenant_id = (SELECT service.tenant()));
