-- A transaction that was taken for another installation's, because the rows of its request were lost, is ours once the request
-- is known again.
ALTER TABLE service.external_transaction ADD COLUMN explained boolean NOT NULL DEFAULT false;
CREATE INDEX external_transaction_root ON service.external_transaction (root_id) WHERE NOT explained;

-- Definer's rights: the role of the HTTP process accepts requests and writes nothing about wallets.
CREATE FUNCTION service.explain_external() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  UPDATE service.external_transaction e SET explained = true WHERE e.root_id = NEW.root_id AND NOT e.explained;
  RETURN NULL;
END $$;
CREATE TRIGGER intent_explain AFTER INSERT ON service.intent FOR EACH ROW EXECUTE FUNCTION service.explain_external();

UPDATE service.external_transaction e SET explained = true
  WHERE EXISTS (SELECT FROM service.intent i WHERE i.root_id = e.root_id);
