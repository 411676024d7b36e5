-- What could not be read of a document is told beside it, and one odd member no longer costs a token its traits: `jsonb`
-- refuses a whole document for an escaped NUL, half of a surrogate pair, or a number beyond all bounds anywhere in it.

ALTER TABLE service.token_metadata
  -- Of members that have columns, as MEMBER:REASON; null: nothing was left out.
  ADD COLUMN warnings text[],
  -- The same of traits, kept by the trigger that derives them.
  ADD COLUMN trait_warnings text[];

-- A text as `json`, which leaves numbers as they are written. NUL goes, and half of a surrogate pair becomes U+FFFD, as in the
-- columns of the document. Null for a text that is no JSON.
CREATE FUNCTION service.readable_json(document text) RETURNS json LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $body$
DECLARE
  clean text := document;
BEGIN
  IF strpos(clean, '\u') > 0 AND clean ~ '\\u(0000|[dD][89a-fA-F])' THEN
    -- Without pairs of backslashes, each one that is left begins an escape.
    clean := replace(replace(clean, '\\', '\u005c'), '\u0000', '');
    clean := regexp_replace(clean, '\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})', '\\ufffd', 'g');
    clean := regexp_replace(clean, '(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}', '\\ufffd', 'g');
  END IF;
  RETURN CASE WHEN clean IS JSON THEN clean::json END;
END $body$;

-- The traits of one document, and beside them, in rows of their own, what could not be read: `attributes`, or `traits` where
-- that has nothing, as an array of {trait_type, value} or as an object; also as JSON text, and one level deeper than it
-- should be. Bounded in number and length, because the document is a third party's.
CREATE FUNCTION service.read_traits(document text)
RETURNS TABLE (name text, value text, number numeric, warning text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $body$
#variable_conflict use_column
DECLARE
  root json := service.readable_json(document);
  member text;
  listed json;
  nested json;
  items jsonb;
  unreadable boolean;
  too_many boolean;
  is_cut boolean;
BEGIN
  IF json_typeof(root) IS DISTINCT FROM 'object' THEN RETURN; END IF;
  FOREACH member IN ARRAY ARRAY['attributes', 'traits'] LOOP
    listed := root -> member;
    FOR depth IN 1..4 LOOP
      EXIT WHEN json_typeof(listed -> 0) = 'object';
      nested := CASE json_typeof(listed)
        WHEN 'string' THEN service.readable_json(listed #>> '{}')
        WHEN 'object' THEN (SELECT e.value FROM json_each(listed) e
          WHERE e.key IN ('attributes', 'traits') AND json_typeof(e.value) IN ('array', 'object') LIMIT 1)
        WHEN 'array' THEN CASE WHEN CASE json_typeof(listed -> 0) WHEN 'array' THEN true
            WHEN 'string' THEN json_typeof(service.readable_json(listed ->> 0)) IN ('array', 'object') END THEN (
          SELECT json_agg(part) FROM json_array_elements(listed) item
          CROSS JOIN LATERAL (SELECT CASE WHEN json_typeof(item) = 'string'
            THEN coalesce(service.readable_json(item #>> '{}'), item) ELSE item END AS plain) p
          CROSS JOIN LATERAL json_array_elements(
            CASE WHEN json_typeof(plain) = 'array' THEN plain ELSE json_build_array(plain) END) part) END
        END;
      EXIT WHEN nested IS NULL;
      listed := nested;
    END LOOP;
    IF json_typeof(listed) = 'object' THEN
      SELECT json_agg(json_build_object('trait_type', e.key, 'value', e.value)) INTO listed FROM json_each(listed) e;
    END IF;
    CONTINUE WHEN json_typeof(listed) IS NULL OR json_typeof(listed) = 'null'
      OR json_typeof(listed) = 'string' AND btrim(listed #>> '{}', E' \t\r\n') = '';
    IF json_typeof(listed) <> 'array' THEN
      RETURN QUERY SELECT NULL::text, NULL::text, NULL::numeric, member || ':not_a_list';
      CONTINUE;
    END IF;
    CONTINUE WHEN json_array_length(listed) = 0;
    IF listed::text ~ '[0-9][eE][+-]?[0-9]{3}' THEN
      -- Numbers that `jsonb` refuses, or writes out in all their digits.
      SELECT jsonb_agg(CASE WHEN json_typeof(item) = 'object' THEN jsonb_build_object('trait_type', n, 'value',
          CASE json_typeof(v) WHEN 'string' THEN to_jsonb(v #>> '{}') WHEN 'boolean' THEN v::jsonb WHEN 'null' THEN 'null'
            WHEN 'number' THEN to_jsonb(CASE WHEN v #>> '{}' ~ '^[-0-9.]{1,60}([eE][+-]?[0-9]{1,2})?$'
              THEN (v #>> '{}')::numeric::text ELSE v #>> '{}' END) ELSE '[]' END)
        WHEN json_typeof(item) = 'null' THEN 'null' ELSE '[]' END) INTO items
      FROM json_array_elements(listed) item
      CROSS JOIN LATERAL (SELECT CASE WHEN json_typeof(item) = 'object' THEN item -> 'value' END AS v,
        CASE WHEN json_typeof(item) = 'object' THEN coalesce(item ->> 'trait_type', item ->> 'name', '') END AS n) parts;
    ELSE
      items := listed;
    END IF;
    RETURN QUERY
      SELECT DISTINCT ON (t.n, t.v) t.n, t.v,
        CASE WHEN t.v ~ '^-?[0-9]{1,30}(\.[0-9]{1,30})?$' THEN t.v::numeric END, NULL::text
      FROM (
        SELECT left(coalesce(item ->> 'trait_type', item ->> 'name', ''), 200) AS n, left(item ->> 'value', 300) AS v
        FROM jsonb_array_elements(items) WITH ORDINALITY AS listing (item, place)
        WHERE jsonb_typeof(item) = 'object' AND jsonb_typeof(item -> 'value') IN ('string', 'number', 'boolean')
        ORDER BY place LIMIT 200) t;
    -- A value that is null is none, and so is nothing lost.
    SELECT bool_or(CASE jsonb_typeof(item) WHEN 'null' THEN false
        WHEN 'object' THEN coalesce(jsonb_typeof(item -> 'value'), 'array') IN ('array', 'object') ELSE true END),
      count(*) FILTER (WHERE jsonb_typeof(item) = 'object'
        AND jsonb_typeof(item -> 'value') IN ('string', 'number', 'boolean')) > 200,
      bool_or(jsonb_typeof(item) = 'object' AND (length(coalesce(item ->> 'trait_type', item ->> 'name')) > 200
        OR jsonb_typeof(item -> 'value') IN ('string', 'number') AND length(item ->> 'value') > 300))
      INTO unreadable, too_many, is_cut
      FROM jsonb_array_elements(items) item;
    IF unreadable OR too_many OR is_cut THEN
      RETURN QUERY SELECT NULL::text, NULL::text, NULL::numeric, member || ':' || reason
      FROM (VALUES ('unreadable', unreadable), ('too_many', too_many), ('cut', is_cut)) AS reasons (reason, holds)
      WHERE holds;
    END IF;
    RETURN;
  END LOOP;
EXCEPTION WHEN data_exception OR program_limit_exceeded OR statement_too_complex THEN
  RETURN QUERY SELECT NULL::text, NULL::text, NULL::numeric, coalesce(member, 'attributes') || ':unreadable';
END $body$;

CREATE OR REPLACE FUNCTION service.traits_of(document text) RETURNS TABLE (name text, value text, number numeric)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $body$
  SELECT t.name, t.value, t.number FROM service.read_traits(document) t WHERE t.warning IS NULL
$body$;

CREATE OR REPLACE FUNCTION service.derive_traits() RETURNS trigger LANGUAGE plpgsql AS $body$
DECLARE
  told text[];
BEGIN
  IF TG_OP <> 'INSERT' THEN
    DELETE FROM service.token_trait t
    WHERE t.chain_id = OLD.chain_id AND t.contract = OLD.contract AND t.token_id = OLD.token_id;
  END IF;
  IF TG_OP = 'DELETE' THEN RETURN NULL; END IF;
  WITH found AS MATERIALIZED (
    SELECT * FROM service.read_traits(CASE WHEN NEW.id_in_metadata IS NULL THEN NEW.metadata
      ELSE regexp_replace(NEW.metadata, '\{id\}|%7Bid%7D', NEW.id_in_metadata, 'gi') END)),
  kept AS (
    INSERT INTO service.token_trait (chain_id, contract, name, value, token_id, number)
    SELECT NEW.chain_id, NEW.contract, f.name, f.value, NEW.token_id, f.number
    FROM found f WHERE f.warning IS NULL ORDER BY f.name, f.value)
  SELECT array_agg(f.warning ORDER BY f.warning) INTO told FROM found f WHERE f.warning IS NOT NULL;
  -- Almost no document has one: the others are not written a second time.
  IF told IS DISTINCT FROM NEW.trait_warnings THEN
    UPDATE service.token_metadata m SET trait_warnings = told
    WHERE m.chain_id = NEW.chain_id AND m.contract = NEW.contract AND m.token_id = NEW.token_id;
  END IF;
  RETURN NULL;
END $body$;
