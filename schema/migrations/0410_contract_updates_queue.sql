-- Updates of a product contract wait for one another, as those of a collection do (src/relay/store/update-order.ts): a second
-- one is accepted while another is under way.
CREATE OR REPLACE FUNCTION service.claim_tokens() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.retry_number = 0 THEN
      INSERT INTO service.token_claim (chain_id, contract, token_id, tenant_id, root_id)
      SELECT NEW.chain_id, NEW.predicted_addr, (t ->> 'tokenId')::numeric, NEW.tenant_id, NEW.root_id
      FROM jsonb_array_elements(NEW.payload -> 'tokens') t;
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
CREATE OR REPLACE TRIGGER intent_claim AFTER INSERT ON service.intent FOR EACH ROW
  WHEN (NEW.kind = 'mint') EXECUTE FUNCTION service.claim_tokens();
