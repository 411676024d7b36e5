-- Accounts: plans, keys, use, charges, and the log of who changed what.

-- The account that the session reads for: `app.tenant` of the connection. 0009_tenants.sql has the policies.
CREATE FUNCTION service.tenant() RETURNS uuid LANGUAGE sql STABLE SET search_path = '' AS $$
  SELECT nullif(current_setting('app.tenant', true), '')::uuid
$$;

-- Plans. The one policy table: both APIs, the triggers that count, and `me/settings` read it. Null: no limit.
CREATE TABLE service.plan (
  tier text PRIMARY KEY CHECK (tier IN ('free', 'growth', 'scale', 'enterprise')),
  reads_per_second integer CHECK (reads_per_second > 0),
  uploads_per_minute integer CHECK (uploads_per_minute > 0),
  deploys_per_minute integer CHECK (deploys_per_minute > 0),
  requests_per_month bigint CHECK (requests_per_month >= 0),
  -- Mint, burn and transfer actions per chain: included in a subscription month, and the most there can ever be.
  mints_included integer,
  max_mints integer,
  contracts_included integer,
  max_contracts integer,
  max_supply numeric(78, 0),
  -- Chains on which a deployment books a fee.
  paid_chains boolean NOT NULL,
  -- Days that the list of all NFTs of a chain goes back.
  window_days integer,
  -- What an account may keep on the disk, the same content counted once, and how many of its uploads run at once.
  storage_bytes bigint CHECK (storage_bytes >= 0),
  uploads_at_once integer CHECK (uploads_at_once > 0),
  -- Deployments and updates cost gas alike, so both count.
  transactions_per_day integer CHECK (transactions_per_day >= 0),
  transactions_per_month integer CHECK (transactions_per_month >= 0),
  -- Requests that may ask a chain's node or store something, whatever becomes of them: dry runs and refused ones too.
  deploy_requests_per_day integer CHECK (deploy_requests_per_day > 0),
  upload_requests_per_day integer CHECK (upload_requests_per_day > 0),
  -- Requests of mode SIGN that wait for their transaction, and presale lists.
  max_awaited_deployments integer CHECK (max_awaited_deployments >= 0),
  max_allowlists integer CHECK (max_allowlists >= 0),
  allowlist_bytes bigint CHECK (allowlist_bytes >= 0)
);
INSERT INTO service.plan (tier, paid_chains,
  reads_per_second, uploads_per_minute, deploys_per_minute, requests_per_month,
  mints_included, max_mints, contracts_included, max_contracts, max_supply, window_days,
  storage_bytes, uploads_at_once, max_awaited_deployments, max_allowlists, allowlist_bytes) VALUES
  ('free',       false,   10,  120,   60,   25000,  100,  100,    5,    5, 5000,   90,   1073741824,    4,   50,   100,   16777216),
  ('growth',     true,    50,  600,  300,  150000,  500, NULL,   15, NULL, NULL,   90,  26843545600,    8,  500,  1000,  268435456),
  ('scale',      true,   200, 3000, 1200, 1000000, NULL, NULL, NULL, NULL, NULL,   90, 268435456000,   32, 5000, 10000, 2147483648),
  ('enterprise', true,  NULL, NULL, NULL,    NULL, NULL, NULL, NULL, NULL, NULL, NULL,         NULL, NULL, NULL,  NULL,       NULL);
UPDATE service.plan SET transactions_per_day = 20, transactions_per_month = 100, deploy_requests_per_day = 500,
  upload_requests_per_day = 20000 WHERE tier = 'free';

CREATE TABLE service.account (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  name text NOT NULL,
  email text,
  tier text NOT NULL CHECK (tier IN ('free', 'growth', 'scale', 'enterprise')),
  suspended boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- A key. Its spellings are in key_secret, by digest only.
CREATE TABLE service.api_key (
  id text PRIMARY KEY DEFAULT 'key_' || replace(gen_random_uuid()::text, '-', ''),
  account_id uuid NOT NULL REFERENCES service.account (id),
  name text NOT NULL,
  scopes text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'upload', 'deploy', 'admin'] AND cardinality(scopes) > 0),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX api_key_account ON service.api_key (account_id, created_at);

-- A key has one or two spellings: a prefixed secret, and a UUID that clients of the former service can send.
CREATE TABLE service.key_secret (
  digest bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
  account_id uuid NOT NULL REFERENCES service.account (id),
  key_id text NOT NULL REFERENCES service.api_key (id),
  kind text NOT NULL CHECK (kind IN ('uuid', 'secret')),
  revoked_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX key_secret_account ON service.key_secret (account_id);
CREATE INDEX key_secret_key ON service.key_secret (key_id);

-- Requests of a calendar month (UTC). Processes add what they counted about once a second.
CREATE TABLE service.usage_month (
  account_id uuid NOT NULL REFERENCES service.account (id),
  month date NOT NULL,
  requests bigint NOT NULL DEFAULT 0 CHECK (requests >= 0),
  PRIMARY KEY (account_id, month)
);

-- Adds what a process counted of many accounts, and when their keys were last used.
CREATE FUNCTION service.count_usage(accounts uuid[], counts bigint[], keys text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  -- In one order in every process: two that add the same accounts at once must not wait for each other.
  INSERT INTO service.usage_month AS u (account_id, month, requests)
    SELECT c.account_id, date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC')::date, c.requests
    FROM unnest(accounts, counts) AS c (account_id, requests) ORDER BY c.account_id
    ON CONFLICT (account_id, month) DO UPDATE SET requests = u.requests + EXCLUDED.requests;
  UPDATE service.api_key SET last_used_at = clock_timestamp() WHERE id IN (
    SELECT k.id FROM service.api_key k WHERE k.id = ANY (keys) ORDER BY k.id FOR NO KEY UPDATE SKIP LOCKED);
END $$;

-- What a key may do now: one row for a key that works or whose account is suspended. Definer's rights: the role of the
-- HTTP process sees no other tenant's keys, and must still find out whose a key is.
CREATE FUNCTION service.session_of(asked bytea) RETURNS TABLE (
  key_id text, scopes text[], account_id uuid, tier text, suspended boolean, requests bigint, plan jsonb
) LANGUAGE sql STABLE SECURITY DEFINER SET search_path = '' AS $$
  SELECT k.id, k.scopes, a.id, a.tier, a.suspended, coalesce(u.requests, 0), to_jsonb(p)
  FROM service.key_secret s
  JOIN service.api_key k ON k.id = s.key_id
  JOIN service.account a ON a.id = k.account_id
  JOIN service.plan p ON p.tier = a.tier
  LEFT JOIN service.usage_month u
    ON u.account_id = a.id AND u.month = date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC')::date
  WHERE s.digest = asked AND s.revoked_at IS NULL AND k.revoked_at IS NULL
    AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
$$;

-- Rate buckets (GCRA): tat is the theoretical arrival time in seconds of the epoch. Unlogged: a crash forgives what was
-- used; money has the charges below.
CREATE UNLOGGED TABLE service.rate (k text PRIMARY KEY, tat double precision NOT NULL) WITH (fillfactor = 50);

-- What a deployment or an update costs on a chain, in US cents; no row: nothing. 31339 is the embedded stand-in for chain 1.
CREATE TABLE service.price (
  chain_id integer NOT NULL,
  kind text NOT NULL,
  usd_cents integer NOT NULL CHECK (usd_cents > 0),
  PRIMARY KEY (chain_id, kind)
);
INSERT INTO service.price VALUES (1, 'deploy', 19900), (1, 'update', 5900), (31339, 'deploy', 19900), (31339, 'update', 5900);

-- Charges. One per request (root_id), however often it is tried again. The operator settles them.
CREATE TABLE service.charge (
  id text PRIMARY KEY DEFAULT 'chg_' || replace(gen_random_uuid()::text, '-', ''),
  account_id uuid NOT NULL REFERENCES service.account (id),
  root_id uuid NOT NULL UNIQUE,
  chain_id integer NOT NULL,
  kind text NOT NULL,
  usd_cents integer NOT NULL CHECK (usd_cents > 0),
  -- void: the request failed or ended before it was paid; refund_due: after.
  state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'settled', 'void', 'refund_due', 'refunded')),
  note text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX charge_account ON service.charge (account_id, created_at);

CREATE FUNCTION service.guard_charge() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'charges are never deleted' USING ERRCODE = 'restrict_violation';
  END IF;
  IF (NEW.id, NEW.account_id, NEW.root_id, NEW.chain_id, NEW.kind, NEW.usd_cents, NEW.created_at)
     IS DISTINCT FROM (OLD.id, OLD.account_id, OLD.root_id, OLD.chain_id, OLD.kind, OLD.usd_cents, OLD.created_at) THEN
    RAISE EXCEPTION 'what a charge was booked for does not change' USING ERRCODE = 'check_violation';
  END IF;
  NEW.changed_at := clock_timestamp();
  RETURN NEW;
END $$;
CREATE TRIGGER charge_guard BEFORE UPDATE OR DELETE ON service.charge
  FOR EACH ROW EXECUTE FUNCTION service.guard_charge();

-- Who changed what: rows are only added, and each holds the hash of the one before it.
CREATE TABLE service.audit_log (
  seq bigint PRIMARY KEY,
  at timestamptz NOT NULL,
  actor text NOT NULL,
  request_id text,
  action text NOT NULL,
  object text NOT NULL,
  before jsonb,
  after jsonb,
  prev_hash bytea NOT NULL CHECK (octet_length(prev_hash) = 32),
  hash bytea NOT NULL CHECK (octet_length(hash) = 32)
);

-- What is hashed after prev_hash; independent of session settings.
CREATE FUNCTION service.audit_text(r service.audit_log) RETURNS text LANGUAGE sql IMMUTABLE SET search_path = '' AS $$
  SELECT jsonb_build_array(r.seq, (extract(epoch FROM r.at) * 1000000)::bigint, r.actor, r.request_id, r.action,
    r.object, r.before, r.after)::text
$$;

CREATE FUNCTION service.chain_audit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE last service.audit_log;
BEGIN
  IF TG_OP <> 'INSERT' THEN
    RAISE EXCEPTION 'the audit log is only ever added to' USING ERRCODE = 'restrict_violation';
  END IF;
  -- One writer at a time, until its transaction ends: the next must see this row.
  PERFORM pg_catalog.pg_advisory_xact_lock(7241903156);
  SELECT * INTO last FROM service.audit_log ORDER BY seq DESC LIMIT 1;
  NEW.seq := coalesce(last.seq, 0) + 1;
  NEW.at := clock_timestamp();
  NEW.prev_hash := coalesce(last.hash, decode(repeat('00', 32), 'hex'));
  NEW.hash := sha256(NEW.prev_hash || convert_to(service.audit_text(NEW), 'UTF8'));
  RETURN NEW;
END $$;
CREATE TRIGGER audit_chain BEFORE INSERT OR UPDATE OR DELETE ON service.audit_log
  FOR EACH ROW EXECUTE FUNCTION service.chain_audit();
CREATE TRIGGER audit_keep BEFORE TRUNCATE ON service.audit_log
  FOR EACH STATEMENT EXECUTE FUNCTION service.chain_audit();
