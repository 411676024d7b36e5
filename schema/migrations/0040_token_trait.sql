-- Traits as narrow rows, for filters and summaries: a filter page over them takes a twentieth of what a
-- scan of the documents does. Filled by a trigger, so whoever writes metadata need not know of it.
CREATE TABLE service.token_trait (
  chain_id integer NOT NULL,
  contract bytea NOT NULL,
  name text NOT NULL,
  value text NOT NULL,
  token_id numeric(78,0) NOT NULL,
  -- The value as a number, where it is one or is written like one.
  number numeric,
  PRIMARY KEY (chain_id, contract, name, value, token_id)
);
CREATE INDEX token_trait_token ON service.token_trait (chain_id, contract, token_id);
CREATE INDEX token_trait_number ON service.token_trait (chain_id, contract, name, number, token_id)
  WHERE number IS NOT NULL;

-- The traits of one document: `attributes` or `traits`, as an array of {trait_type, value} or as an object.
-- Bounded in number and length, because the document is a third party's. A document that PostgreSQL cannot
-- take as jsonb (an escaped NUL, a number beyond all bounds) has none.
CREATE FUNCTION service.traits_of(document text) RETURNS TABLE (name text, value text, number numeric)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $body$
DECLARE
  parsed jsonb;
  listed jsonb;
BEGIN
  IF document IS NULL OR octet_length(document) > 1048576 THEN RETURN; END IF;
  parsed := document::jsonb;
  IF jsonb_typeof(parsed) <> 'object' THEN RETURN; END IF;
  listed := coalesce(parsed -> 'attributes', parsed -> 'traits');
  IF jsonb_typeof(listed) = 'object' THEN
    SELECT jsonb_agg(jsonb_build_object('trait_type', e.key, 'value', e.value)) INTO listed FROM jsonb_each(listed) e;
  END IF;
  IF listed IS NULL OR jsonb_typeof(listed) <> 'array' THEN RETURN; END IF;
  RETURN QUERY
    SELECT DISTINCT ON (t.n, t.v) t.n, t.v,
      CASE WHEN t.v ~ '^-?[0-9]{1,30}(\.[0-9]{1,30})?$' THEN t.v::numeric END
    FROM (
      SELECT left(coalesce(item ->> 'trait_type', item ->> 'name', ''), 200) AS n, left(item ->> 'value', 300) AS v
      FROM jsonb_array_elements(listed) WITH ORDINALITY AS listing (item, place)
      WHERE jsonb_typeof(item) = 'object' AND jsonb_typeof(item -> 'value') IN ('string', 'number', 'boolean')
      ORDER BY place LIMIT 200) t;
EXCEPTION WHEN data_exception OR program_limit_exceeded OR invalid_text_representation OR untranslatable_character
  OR statement_too_complex THEN
  RETURN;
END $body$;

CREATE FUNCTION service.derive_traits() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    DELETE FROM service.token_trait t
    WHERE t.chain_id = OLD.chain_id AND t.contract = OLD.contract AND t.token_id = OLD.token_id;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO service.token_trait (chain_id, contract, name, value, token_id, number)
    SELECT NEW.chain_id, NEW.contract, t.name, t.value, NEW.token_id, t.number
    FROM service.traits_of(NEW.metadata) t ORDER BY t.name, t.value;
  END IF;
  RETURN NULL;
END $body$;

-- Rows are written one at a time, and most writes (leases, failures) leave the document as it is: a
-- trigger per row with a condition costs those nothing, transition tables would.
CREATE TRIGGER traits_inserted AFTER INSERT ON service.token_metadata
  FOR EACH ROW WHEN (NEW.metadata IS NOT NULL) EXECUTE FUNCTION service.derive_traits();
CREATE TRIGGER traits_updated AFTER UPDATE OF metadata ON service.token_metadata
  FOR EACH ROW WHEN (OLD.metadata IS DISTINCT FROM NEW.metadata) EXECUTE FUNCTION service.derive_traits();
CREATE TRIGGER traits_deleted AFTER DELETE ON service.token_metadata
  FOR EACH ROW WHEN (OLD.metadata IS NOT NULL) EXECUTE FUNCTION service.derive_traits();

INSERT INTO service.token_trait (chain_id, contract, name, value, token_id, number)
SELECT m.chain_id, m.contract, t.name, t.value, m.token_id, t.number
FROM service.token_metadata m CROSS JOIN LATERAL service.traits_of(m.metadata) t;

-- Search over name and description. No stemming: names are in every language and in none.
CREATE FUNCTION service.search_text(name text, description text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN to_tsvector('pg_catalog.simple'::regconfig, left(coalesce(name, ''), 500) || ' ' || left(coalesce(description, ''), 4000));
CREATE INDEX token_metadata_search ON service.token_metadata USING gin (service.search_text(name, description))
  WHERE name IS NOT NULL OR description IS NOT NULL;
