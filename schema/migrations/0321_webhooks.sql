-- Endpoints that events are sent to, what is to be sent, and every try.
CREATE TABLE service.webhook (
  id text PRIMARY KEY DEFAULT 'wh_' || replace(gen_random_uuid()::text, '-', ''),
  -- Null: the operator's.
  account_id uuid REFERENCES service.account (id),
  url text NOT NULL CHECK (length(url) <= 2000),
  description text NOT NULL DEFAULT '',
  types text[] NOT NULL,
  chains integer[] NOT NULL,
  contracts bytea[] NOT NULL,
  accounts bytea[] NOT NULL,
  -- Decimal.
  token_ids text[] NOT NULL,
  finality text NOT NULL CHECK (finality IN ('latest', 'safe', 'finalized')),
  state text NOT NULL DEFAULT 'enabled' CHECK (state IN ('enabled', 'paused', 'disabled')),
  -- Why it was disabled: gone (it answered 410), failing (for five days), backlog.
  disabled_reason text,
  -- Sealed under the installation's pepper (src/events/webhook-secrets.ts).
  secret bytea NOT NULL,
  previous_secret bytea,
  previous_until timestamptz,
  signing_key bytea NOT NULL,
  -- Events up to this one are of before it was made.
  since bigint NOT NULL,
  -- Null: nothing to send. A claim moves it to the end of its lease.
  next_due timestamptz,
  lease_id uuid,
  lease_until timestamptz,
  -- Tries that failed in a row.
  failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Of its settings and state; sending leaves it.
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX webhook_account ON service.webhook (account_id, created_at);
CREATE INDEX webhook_due ON service.webhook (next_due) WHERE state = 'enabled' AND next_due IS NOT NULL;
CREATE INDEX webhook_changed ON service.webhook (changed_at);
ALTER TABLE service.webhook ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON service.webhook USING (account_id = (SELECT service.tenant()))
  WITH CHECK (account_id = (SELECT service.tenant()));

CREATE TABLE service.webhook_delivery (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  webhook_id text NOT NULL REFERENCES service.webhook (id) ON DELETE CASCADE,
  account_id uuid,
  -- Of its event; null: a test, whose text is in `body`.
  sequence bigint,
  event_id text NOT NULL,
  type text NOT NULL,
  body text,
  -- Events of one place are sent one after another.
  place text NOT NULL,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'dead')),
  attempts integer NOT NULL DEFAULT 0,
  next_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  ended_at timestamptz
);
CREATE INDEX webhook_delivery_due ON service.webhook_delivery (webhook_id, next_at, id) WHERE state = 'pending';
-- A replay leaves out what waits already.
CREATE INDEX webhook_delivery_waiting ON service.webhook_delivery (webhook_id, sequence) WHERE state = 'pending';
CREATE INDEX webhook_delivery_list ON service.webhook_delivery (webhook_id, id);
CREATE INDEX webhook_delivery_ended ON service.webhook_delivery (ended_at) WHERE ended_at IS NOT NULL;
ALTER TABLE service.webhook_delivery ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON service.webhook_delivery USING (account_id = (SELECT service.tenant()))
  WITH CHECK (account_id = (SELECT service.tenant()));

CREATE TABLE service.webhook_try (
  delivery_id bigint NOT NULL REFERENCES service.webhook_delivery (id) ON DELETE CASCADE,
  attempt integer NOT NULL,
  account_id uuid,
  at timestamptz NOT NULL,
  -- Null: there was no answer, and `fault` says why.
  status integer,
  fault text,
  milliseconds integer NOT NULL,
  -- The first kilobyte of the answer.
  answer text,
  PRIMARY KEY (delivery_id, at)
);
ALTER TABLE service.webhook_try ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON service.webhook_try FOR SELECT USING (account_id = (SELECT service.tenant()));

-- The API's login may neither notify nor lock by itself: `schema/analyst-role.ts` takes both from everybody.
CREATE FUNCTION service.wake_webhooks() RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
  SELECT pg_catalog.pg_notify('mintyard_events', '')
$$;

-- Held by a transaction that makes or changes an endpoint; the number is that of `src/events/webhook-lock.ts`.
CREATE FUNCTION service.hold_matching() RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
  SELECT pg_catalog.pg_advisory_xact_lock_shared(7241903160)
$$;

-- Events up to this one have their deliveries.
CREATE TABLE service.webhook_head (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  sequence bigint NOT NULL
);
INSERT INTO service.webhook_head (sequence) SELECT sequence FROM service.event_head;
ALTER TABLE service.webhook_head ENABLE ROW LEVEL SECURITY;
