-- A text of a document that is no JSON is none, whatever happens beside it. PostgreSQL evaluates a cast of a known value when it
-- plans, also below a CASE that would not come to it, and it plans anew for the value at hand when a catalog has changed: now
-- and then `attributes: "none"` was an error then, and cost the token all its traits.
CREATE OR REPLACE FUNCTION service.readable_json(document text) RETURNS json LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $body$
DECLARE
  clean text := document;
BEGIN
  IF strpos(clean, '\u') > 0 AND clean ~ '\\u(0000|[dD][89a-fA-F])' THEN
    -- It stands for the beginning of an escape below, and is in no JSON.
    IF strpos(clean, E'\x01') > 0 THEN RETURN NULL; END IF;
    -- Without pairs of backslashes, each one that is left begins an escape.
    clean := replace(replace(clean, '\\', '\u005c'), '\u0000', '');
    clean := regexp_replace(clean, '\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})', E'\x01\\1\x01\\2', 'g');
    clean := replace(regexp_replace(clean, '\\u[dD][89a-fA-F][0-9a-fA-F]{2}', '\\ufffd', 'g'), E'\x01', '\u');
  END IF;
  IF clean IS JSON THEN RETURN clean::json; END IF;
  RETURN NULL;
END $body$;

-- What was misread is among what has this warning: it is read again.
WITH found AS MATERIALIZED (
  SELECT m.chain_id, m.contract, m.token_id, t.name, t.value, t.number, t.warning
  FROM service.token_metadata m CROSS JOIN LATERAL service.read_traits(m.metadata, m.id_in_metadata) t
  WHERE m.trait_warnings && ARRAY['attributes:unreadable', 'traits:unreadable']),
kept AS (
  INSERT INTO service.token_trait (chain_id, contract, name, value, token_id, number)
  SELECT chain_id, contract, name, value, token_id, number FROM found WHERE warning IS NULL
  ON CONFLICT DO NOTHING)
UPDATE service.token_metadata m SET trait_warnings = told.warnings
FROM (SELECT chain_id, contract, token_id, array_agg(warning ORDER BY warning) FILTER (WHERE warning IS NOT NULL) AS warnings
  FROM found GROUP BY chain_id, contract, token_id) told
WHERE m.chain_id = told.chain_id AND m.contract = told.contract AND m.token_id = told.token_id
  AND m.trait_warnings IS DISTINCT FROM told.warnings;
