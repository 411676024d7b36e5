-- Deployments on their way to a chain. A request becomes an intent; an intent is bound to one nonce
-- of the paying wallet, once and for ever; every set of bytes that was ever signed is kept.
-- The rules that must hold whatever a process believes are triggers here, not code there.

-- Presale lists in the spelling and order that were sent, without repeats: the order decides the root.
CREATE TABLE service.allowlist (
  id uuid PRIMARY KEY,
  root bytea NOT NULL CHECK (octet_length(root) = 32),
  entries text[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE service.intent (
  id uuid PRIMARY KEY,
  -- A retry of the same request has the next retry number; the chain sees root_id, so it refuses a second collection.
  root_id uuid NOT NULL,
  retry_number integer NOT NULL DEFAULT 0 CHECK (retry_number >= 0),
  tenant_id uuid NOT NULL REFERENCES service.account (id),
  -- The client's own key, or `derived:<hash of the request>:<count>` when it sent none.
  idem_key text CHECK ((idem_key IS NULL) = (retry_number > 0)),
  idem_derived boolean NOT NULL DEFAULT false,
  req_hash bytea NOT NULL CHECK (octet_length(req_hash) = 32),
  chain_id integer NOT NULL,
  kind text NOT NULL CHECK (kind IN ('deploy', 'update')),
  payload jsonb NOT NULL,
  allowlist_id uuid REFERENCES service.allowlist (id),
  factory bytea NOT NULL CHECK (octet_length(factory) = 20),
  template bytea NOT NULL CHECK (octet_length(template) = 20),
  -- The wallet that will own the collection; it is inside init_data too, and the factory compares.
  owner bytea NOT NULL CHECK (octet_length(owner) = 20),
  init_data bytea NOT NULL,
  salt bytea NOT NULL CHECK (octet_length(salt) = 32),
  predicted_addr bytea NOT NULL CHECK (octet_length(predicted_addr) = 20),
  state text NOT NULL DEFAULT 'queued',
  hold_reason text,
  version integer NOT NULL DEFAULT 0,
  reserved_wei numeric(78, 0) NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Without a nonce by then, the intent ends as `expired`.
  expires_at timestamptz NOT NULL DEFAULT clock_timestamp() + interval '24 hours',
  -- When it was confirmed or ended; null again when a reorganisation takes that back.
  settled_at timestamptz,
  UNIQUE (tenant_id, idem_key),
  UNIQUE (root_id, retry_number)
);
CREATE INDEX intent_open ON service.intent (chain_id, state, updated_at)
  WHERE state NOT IN ('finalized', 'failed_onchain', 'cancelled', 'expired', 'retried');
CREATE INDEX intent_request ON service.intent (tenant_id, req_hash) WHERE idem_derived;
CREATE INDEX intent_address ON service.intent (chain_id, predicted_addr);
CREATE INDEX intent_tenant ON service.intent (tenant_id, created_at, id);

CREATE TABLE service.intent_edge (
  from_state text NOT NULL,
  to_state text NOT NULL,
  PRIMARY KEY (from_state, to_state)
);
INSERT INTO service.intent_edge VALUES
  ('queued', 'held'), ('held', 'queued'),
  ('queued', 'expired'), ('held', 'expired'), ('queued', 'cancelled'), ('held', 'cancelled'),
  ('queued', 'assigned'), ('assigned', 'signed'), ('signed', 'in_flight'),
  ('signed', 'mined'), ('signed', 'mined_reverted'), ('signed', 'mined_cancellation'),
  ('in_flight', 'mined'), ('in_flight', 'mined_reverted'), ('in_flight', 'mined_cancellation'),
  -- The receipt is gone, or its block is no longer on the chain.
  ('mined', 'in_flight'), ('mined_reverted', 'in_flight'), ('mined_cancellation', 'in_flight'), ('confirmed', 'in_flight'),
  ('mined', 'confirmed'), ('confirmed', 'finalized'),
  ('mined_reverted', 'failed_onchain'), ('mined_cancellation', 'cancelled'),
  -- The collection stands already although we do not remember sending it (a restored database).
  ('queued', 'mined'), ('assigned', 'mined'),
  -- The nonce was used by bytes that we never signed.
  ('assigned', 'nonce_conflict'), ('signed', 'nonce_conflict'), ('in_flight', 'nonce_conflict'), ('mined', 'nonce_conflict'),
  ('mined_reverted', 'nonce_conflict'), ('mined_cancellation', 'nonce_conflict'), ('confirmed', 'nonce_conflict'),
  ('nonce_conflict', 'retried');

-- One paying wallet on one chain: its nonces are given out here and nowhere else.
CREATE TABLE service.relayer_wallet (
  chain_id integer NOT NULL,
  addr bytea NOT NULL CHECK (octet_length(addr) = 20),
  -- Hash of block 0: another chain under the same id (a development chain that was reset) is noticed.
  genesis_hash bytea NOT NULL CHECK (octet_length(genesis_hash) = 32),
  next_nonce bigint NOT NULL CHECK (next_nonce >= 0),
  state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'paused_funds', 'paused_fee', 'reconcile', 'halted')),
  PRIMARY KEY (chain_id, addr)
);

CREATE TABLE service.nonce_reservation (
  chain_id integer NOT NULL,
  addr bytea NOT NULL,
  nonce bigint NOT NULL CHECK (nonce >= 0),
  intent_id uuid UNIQUE REFERENCES service.intent (id),
  kind text NOT NULL CHECK (kind IN ('deploy', 'update', 'cancellation')),
  state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'mined')),
  mined_block bigint,
  mined_block_hash bytea,
  mined_attempt bytea,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (chain_id, addr, nonce),
  FOREIGN KEY (chain_id, addr) REFERENCES service.relayer_wallet (chain_id, addr),
  CHECK ((state = 'mined') = (mined_block IS NOT NULL AND mined_block_hash IS NOT NULL AND mined_attempt IS NOT NULL))
);

CREATE INDEX nonce_reservation_open ON service.nonce_reservation (chain_id, addr) WHERE state = 'open';

CREATE TABLE service.attempt (
  hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
  chain_id integer NOT NULL,
  addr bytea NOT NULL,
  nonce bigint NOT NULL,
  kind text NOT NULL CHECK (kind IN ('deploy', 'update', 'cancellation', 'imported')),
  raw bytea NOT NULL,
  max_fee numeric(78, 0) NOT NULL,
  tip numeric(78, 0) NOT NULL,
  gas bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  FOREIGN KEY (chain_id, addr, nonce) REFERENCES service.nonce_reservation (chain_id, addr, nonce)
);
CREATE INDEX attempt_nonce ON service.attempt (chain_id, addr, nonce, created_at);

-- What nodes reported. Kept as evidence for people; no decision reads it.
CREATE TABLE service.attempt_event (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  attempt_hash bytea NOT NULL REFERENCES service.attempt (hash),
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  provider text NOT NULL,
  method text NOT NULL,
  outcome_code text NOT NULL,
  detail text
);
CREATE INDEX attempt_event_attempt ON service.attempt_event (attempt_hash);

CREATE FUNCTION service.guard_intent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'intents are never deleted' USING ERRCODE = 'restrict_violation';
  END IF;
  IF TG_OP = 'INSERT' THEN
    IF NEW.state <> 'queued' OR NEW.version <> 0 THEN
      RAISE EXCEPTION 'an intent begins as queued, version 0' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
  END IF;
  IF (NEW.id, NEW.root_id, NEW.retry_number, NEW.tenant_id, NEW.idem_key, NEW.req_hash, NEW.chain_id, NEW.kind, NEW.payload,
      NEW.allowlist_id, NEW.factory, NEW.template, NEW.owner, NEW.init_data, NEW.salt, NEW.predicted_addr, NEW.created_at)
     IS DISTINCT FROM
     (OLD.id, OLD.root_id, OLD.retry_number, OLD.tenant_id, OLD.idem_key, OLD.req_hash, OLD.chain_id, OLD.kind, OLD.payload,
      OLD.allowlist_id, OLD.factory, OLD.template, OLD.owner, OLD.init_data, OLD.salt, OLD.predicted_addr, OLD.created_at) THEN
    RAISE EXCEPTION 'what an intent was accepted with does not change' USING ERRCODE = 'check_violation';
  END IF;
  IF NEW.version <> OLD.version + 1 THEN
    RAISE EXCEPTION 'an intent changes one version at a time' USING ERRCODE = 'check_violation';
  END IF;
  IF NEW.state <> OLD.state THEN
    IF NOT EXISTS (SELECT FROM service.intent_edge e WHERE e.from_state = OLD.state AND e.to_state = NEW.state) THEN
      RAISE EXCEPTION 'an intent cannot go from % to %', OLD.state, NEW.state USING ERRCODE = 'check_violation';
    END IF;
    NEW.settled_at := CASE
      WHEN NEW.state NOT IN ('confirmed', 'finalized', 'failed_onchain', 'cancelled', 'expired', 'retried') THEN NULL
      ELSE coalesce(OLD.settled_at, clock_timestamp()) END;
  END IF;
  NEW.updated_at := clock_timestamp();
  RETURN NEW;
END $$;
CREATE TRIGGER intent_guard BEFORE INSERT OR UPDATE OR DELETE ON service.intent
  FOR EACH ROW EXECUTE FUNCTION service.guard_intent();

CREATE FUNCTION service.guard_nonce_reservation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'nonce reservations are never deleted' USING ERRCODE = 'restrict_violation';
  END IF;
  IF (NEW.chain_id, NEW.addr, NEW.nonce, NEW.intent_id) IS DISTINCT FROM
     (OLD.chain_id, OLD.addr, OLD.nonce, OLD.intent_id) THEN
    RAISE EXCEPTION 'a nonce keeps its intent for ever' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER nonce_reservation_guard BEFORE UPDATE OR DELETE ON service.nonce_reservation
  FOR EACH ROW EXECUTE FUNCTION service.guard_nonce_reservation();

CREATE FUNCTION service.guard_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'attempts are only ever added' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER attempt_guard BEFORE UPDATE OR DELETE ON service.attempt
  FOR EACH ROW EXECUTE FUNCTION service.guard_attempt();

CREATE FUNCTION service.guard_relayer_wallet() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'wallets are never deleted' USING ERRCODE = 'restrict_violation';
  END IF;
  IF NEW.next_nonce < OLD.next_nonce THEN
    RAISE EXCEPTION 'a wallet never gives out a nonce again' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER relayer_wallet_guard BEFORE UPDATE OR DELETE ON service.relayer_wallet
  FOR EACH ROW EXECUTE FUNCTION service.guard_relayer_wallet();
