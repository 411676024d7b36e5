-- ERC-1155: `{id}` in any text of a document stands for the token's id. The document is kept as it came, and so are its bytes;
-- columns and traits have the id.

-- What `{id}` stands for; null: there is none, or it stands for itself.
ALTER TABLE service.token_metadata ADD COLUMN id_in_metadata text CHECK (id_in_metadata ~ '^[0-9a-f]{64}$');

CREATE OR REPLACE FUNCTION service.derive_traits() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    DELETE FROM service.token_trait t
    WHERE t.chain_id = OLD.chain_id AND t.contract = OLD.contract AND t.token_id = OLD.token_id;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO service.token_trait (chain_id, contract, name, value, token_id, number)
    SELECT NEW.chain_id, NEW.contract, t.name, t.value, NEW.token_id, t.number
    FROM service.traits_of(CASE WHEN NEW.id_in_metadata IS NULL THEN NEW.metadata
      ELSE regexp_replace(NEW.metadata, '\{id\}|%7Bid%7D', NEW.id_in_metadata, 'gi') END) t
    ORDER BY t.name, t.value;
  END IF;
  RETURN NULL;
END $body$;

CREATE OR REPLACE TRIGGER traits_updated AFTER UPDATE OF metadata, id_in_metadata ON service.token_metadata
  FOR EACH ROW WHEN (OLD.metadata IS DISTINCT FROM NEW.metadata OR OLD.id_in_metadata IS DISTINCT FROM NEW.id_in_metadata)
  EXECUTE FUNCTION service.derive_traits();
