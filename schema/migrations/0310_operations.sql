-- Acts on product contracts, through the operator contract: each has an intent like deployments, and the chain refuses the
-- name of an intent the second time.
ALTER TABLE service.intent DROP CONSTRAINT intent_kind_check;
ALTER TABLE service.intent ADD CONSTRAINT intent_kind_check CHECK (kind IN
  ('deploy', 'update', 'contract', 'contract_update', 'mint', 'token_update', 'burn', 'transfer'));
-- What a transaction calls: a factory, a collection, or the operator.
ALTER TABLE service.nonce_reservation DROP CONSTRAINT nonce_reservation_kind_check;
ALTER TABLE service.nonce_reservation ADD CONSTRAINT nonce_reservation_kind_check CHECK (kind IN ('deploy', 'update', 'operate', 'cancellation'));
ALTER TABLE service.attempt DROP CONSTRAINT attempt_kind_check;
ALTER TABLE service.attempt ADD CONSTRAINT attempt_kind_check CHECK (kind IN ('deploy', 'update', 'operate', 'cancellation', 'imported'));
ALTER TABLE service.external_transaction DROP CONSTRAINT external_transaction_kind_check;
ALTER TABLE service.external_transaction ADD CONSTRAINT external_transaction_kind_check CHECK (kind IN ('deploy', 'update', 'operate'));

-- Which mint a token id belongs to, from the moment the request is accepted: a different mint of it is refused before any
-- gas, and the same one is answered with the mint that stands. A mint that ends without a token gives its ids back.
CREATE TABLE service.token_claim (
  chain_id integer NOT NULL,
  contract bytea NOT NULL CHECK (octet_length(contract) = 20),
  token_id numeric(78, 0) NOT NULL CHECK (token_id >= 0),
  tenant_id uuid NOT NULL REFERENCES service.account (id),
  root_id uuid NOT NULL,
  PRIMARY KEY (chain_id, contract, token_id)
);
CREATE INDEX token_claim_root ON service.token_claim (root_id);
ALTER TABLE service.token_claim ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON service.token_claim
  USING (tenant_id = (SELECT service.tenant())) WITH CHECK (tenant_id = (SELECT service.tenant()));

-- Definer's rights: the contract of easy mints has many tenants, and an id that another one has claimed is taken too.
CREATE FUNCTION service.claim_tokens() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.kind = 'mint' AND NEW.retry_number = 0 THEN
      INSERT INTO service.token_claim (chain_id, contract, token_id, tenant_id, root_id)
      SELECT NEW.chain_id, NEW.predicted_addr, (t ->> 'tokenId')::numeric, NEW.tenant_id, NEW.root_id
      FROM jsonb_array_elements(NEW.payload -> 'tokens') t;
    ELSIF NEW.kind = 'contract_update' AND NEW.retry_number = 0 THEN
      -- It replaces a whole record, made from what the chain had: one at a time.
      PERFORM FROM service.intent i WHERE i.chain_id = NEW.chain_id AND i.predicted_addr = NEW.predicted_addr
        AND i.kind = 'contract' FOR NO KEY UPDATE;
      IF EXISTS (SELECT FROM service.intent i WHERE i.chain_id = NEW.chain_id AND i.predicted_addr = NEW.predicted_addr
          AND i.kind = 'contract_update' AND i.id <> NEW.id
          AND i.state NOT IN ('confirmed', 'finalized', 'failed_onchain', 'cancelled', 'expired', 'retried')) THEN
        RAISE EXCEPTION 'another update of this contract is under way; send it again when that has ended'
          USING ERRCODE = 'MY006';
      END IF;
    END IF;
  ELSE
    DELETE FROM service.token_claim c WHERE c.root_id = NEW.root_id;
    IF NEW.payload <> OLD.payload THEN
      INSERT INTO service.token_claim (chain_id, contract, token_id, tenant_id, root_id)
      SELECT NEW.chain_id, NEW.predicted_addr, (t ->> 'tokenId')::numeric, NEW.tenant_id, NEW.root_id
      FROM jsonb_array_elements(NEW.payload -> 'tokens') t ON CONFLICT DO NOTHING;
    END IF;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER intent_claim AFTER INSERT ON service.intent FOR EACH ROW
  WHEN (NEW.kind IN ('mint', 'contract_update')) EXECUTE FUNCTION service.claim_tokens();
CREATE TRIGGER intent_release AFTER UPDATE ON service.intent FOR EACH ROW
  WHEN (NEW.kind = 'mint' AND OLD.state <> NEW.state AND NEW.state IN ('failed_onchain', 'cancelled', 'expired'))
  EXECUTE FUNCTION service.claim_tokens();

-- An easy mint draws its id from a counter, so one that is repeated after its rows were lost draws another one than it
-- minted: the id, and the call that has it, are put right by the transaction that stands. Nothing else changes.
CREATE FUNCTION service.fixed_payload(i service.intent) RETURNS jsonb LANGUAGE sql IMMUTABLE SET search_path = '' AS $$
  SELECT CASE WHEN i.kind = 'mint' AND i.payload ? 'easy' THEN i.payload #- '{tokens,0,tokenId}'
    ELSE jsonb_build_object('payload', i.payload, 'call', encode(i.init_data, 'hex')) END
$$;
CREATE TRIGGER intent_import AFTER UPDATE OF payload ON service.intent FOR EACH ROW
  WHEN (NEW.kind = 'mint' AND OLD.payload <> NEW.payload) EXECUTE FUNCTION service.claim_tokens();
CREATE OR REPLACE FUNCTION service.guard_intent() RETURNS trigger LANGUAGE plpgsql AS $$
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
  IF (NEW.id, NEW.root_id, NEW.retry_number, NEW.tenant_id, NEW.idem_key, NEW.req_hash, NEW.chain_id, NEW.kind,
      NEW.allowlist_id, NEW.factory, NEW.template, NEW.owner, NEW.salt, NEW.predicted_addr, NEW.created_at)
     IS DISTINCT FROM
     (OLD.id, OLD.root_id, OLD.retry_number, OLD.tenant_id, OLD.idem_key, OLD.req_hash, OLD.chain_id, OLD.kind,
      OLD.allowlist_id, OLD.factory, OLD.template, OLD.owner, OLD.salt, OLD.predicted_addr, OLD.created_at)
     OR ((NEW.payload, NEW.init_data) IS DISTINCT FROM (OLD.payload, OLD.init_data)
       AND service.fixed_payload(NEW) IS DISTINCT FROM service.fixed_payload(OLD)) THEN
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

-- Ids of the contract of easy mints, counted from 1.
CREATE TABLE service.easy_counter (
  chain_id integer NOT NULL,
  contract bytea NOT NULL CHECK (octet_length(contract) = 20),
  last_id bigint NOT NULL CHECK (last_id > 0),
  PRIMARY KEY (chain_id, contract)
);

-- The updates of one token, in the order of acceptance.
CREATE INDEX intent_token_update ON service.intent (chain_id, predicted_addr, (payload -> 'tokens' -> 0 ->> 'tokenId'), seq)
  WHERE kind = 'token_update';

CREATE INDEX intent_product ON service.intent (tenant_id, created_at, id)
  WHERE kind IN ('contract', 'contract_update', 'mint', 'token_update', 'burn', 'transfer');

-- What a request counts in the limits of a plan: contracts, and mint, burn and transfer actions by their tokens. The
-- limits by day and month are for what has none of its own: deployments, updates and changes of contracts.
CREATE FUNCTION service.actions_of(kind text, payload jsonb) RETURNS bigint LANGUAGE sql IMMUTABLE SET search_path = '' AS $$
  SELECT CASE WHEN kind IN ('mint', 'burn', 'transfer') THEN jsonb_array_length(payload -> 'tokens') ELSE 0 END
$$;

CREATE OR REPLACE FUNCTION service.transactions_since(account uuid, since timestamptz) RETURNS bigint LANGUAGE sql STABLE
  SET search_path = '' AS $$
  SELECT count(*) FROM service.intent i
  WHERE i.tenant_id = account AND i.retry_number = 0 AND i.created_at >= since AND i.kind NOT IN ('mint', 'burn', 'transfer')
    AND NOT (i.state IN ('cancelled', 'expired')
      AND NOT EXISTS (SELECT FROM service.nonce_reservation s WHERE s.intent_id = i.id))
$$;

CREATE OR REPLACE FUNCTION service.book_intent() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  plan service.plan;
  most integer;
  used bigint;
  is_contract boolean := NEW.kind IN ('deploy', 'contract');
  is_action boolean := NEW.kind IN ('mint', 'burn', 'transfer');
BEGIN
  IF NEW.retry_number > 0 THEN RETURN NULL; END IF;
  SELECT p.* INTO plan FROM service.account a JOIN service.plan p ON p.tier = a.tier WHERE a.id = NEW.tenant_id;
  IF is_contract THEN most := plan.max_contracts; ELSIF is_action THEN most := plan.max_mints; END IF;
  IF coalesce(most, plan.transactions_per_day, plan.transactions_per_month) IS NOT NULL THEN
    -- Two requests of one account see each other.
    PERFORM FROM service.account WHERE id = NEW.tenant_id FOR NO KEY UPDATE;
  END IF;
  IF most IS NOT NULL THEN
    SELECT CASE WHEN is_contract THEN count(*) ELSE coalesce(sum(service.actions_of(i.kind, i.payload)), 0) END
      INTO used FROM service.intent i
      WHERE i.tenant_id = NEW.tenant_id AND i.chain_id = NEW.chain_id AND i.retry_number = 0
        AND i.state NOT IN ('failed_onchain', 'cancelled', 'expired')
        AND CASE WHEN is_contract THEN i.kind IN ('deploy', 'contract') ELSE i.kind IN ('mint', 'burn', 'transfer') END;
    IF used > most THEN
      RAISE EXCEPTION 'your plan includes % % on this chain, and all are used; a growth or scale plan has more',
        most, CASE WHEN is_contract THEN 'contract deployments' ELSE 'mint, burn and transfer actions' END
        USING ERRCODE = 'MY001';
    END IF;
  END IF;
  IF NOT is_action THEN
    IF plan.transactions_per_month IS NOT NULL AND plan.transactions_per_month <
       service.transactions_since(NEW.tenant_id, date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC') THEN
      RAISE EXCEPTION 'your plan includes % deployments and updates in a month, and all are used; a growth or scale plan has more',
        plan.transactions_per_month USING ERRCODE = 'MY001';
    END IF;
    IF plan.transactions_per_day IS NOT NULL AND plan.transactions_per_day <
       service.transactions_since(NEW.tenant_id, date_trunc('day', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC') THEN
      RAISE EXCEPTION 'your plan includes % deployments and updates in a day (UTC), and all are used; try again tomorrow',
        plan.transactions_per_day USING ERRCODE = 'MY001';
    END IF;
  END IF;
  INSERT INTO service.charge (account_id, root_id, chain_id, kind, usd_cents)
    SELECT NEW.tenant_id, NEW.root_id, NEW.chain_id, NEW.kind, p.usd_cents
    FROM service.price p WHERE p.chain_id = NEW.chain_id AND p.kind = NEW.kind
    ON CONFLICT (root_id) DO NOTHING;
  RETURN NULL;
END $$;
