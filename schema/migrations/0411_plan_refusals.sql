-- A refusal by a plan says until when it holds and what to do instead: scripts repeat what is refused without end.
CREATE OR REPLACE FUNCTION service.book_intent() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  plan service.plan;
  most integer;
  used bigint;
  is_contract boolean := NEW.kind IN ('deploy', 'contract');
  is_action boolean := NEW.kind IN ('mint', 'burn', 'transfer');
  -- What a client can do about it that counts each token of a reveal.
  instead text := CASE WHEN NEW.kind IN ('deploy', 'contract') THEN 'Repeating the request does not help before then'
    ELSE 'Repeating the request does not help before then. Many tokens are changed by one update of their base URI' END;
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
      RAISE EXCEPTION 'your plan includes % deployments and updates in a month, and all are used until the month ends (UTC); a growth or scale plan has more. %',
        plan.transactions_per_month, instead USING ERRCODE = 'MY001';
    END IF;
    IF plan.transactions_per_day IS NOT NULL AND plan.transactions_per_day <
       service.transactions_since(NEW.tenant_id, date_trunc('day', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC') THEN
      RAISE EXCEPTION 'your plan includes % deployments and updates in a day, and all are used until 00:00 UTC; a growth or scale plan has more. %',
        plan.transactions_per_day, instead USING ERRCODE = 'MY001';
    END IF;
  END IF;
  INSERT INTO service.charge (account_id, root_id, chain_id, kind, usd_cents)
    SELECT NEW.tenant_id, NEW.root_id, NEW.chain_id, NEW.kind, p.usd_cents
    FROM service.price p WHERE p.chain_id = NEW.chain_id AND p.kind = NEW.kind
    ON CONFLICT (root_id) DO NOTHING;
  RETURN NULL;
END $$;
