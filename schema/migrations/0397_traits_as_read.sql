-- Traits that were misread or left out without a word: an object that is one trait, members beside a list that is nested once
-- more, repeated members of an object, names that are no texts, `{id}` in escapes; numbers of more than 30 digits or with an
-- exponent, which ranges did not find.
--
-- What is stored is read again by the worker, a few documents at a time (src/nfts/render-again.ts).

-- As before, in a time that grows with the text alone: looking back from each half took the square of it, half a minute for a
-- document of 150 KB.
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
  RETURN CASE WHEN clean IS JSON THEN clean::json END;
END $body$;

-- What a document has where a list of traits belongs, in its order: a name and a value, or why it is no trait. It may be JSON
-- text, an object, and up to three levels deeper than it should be. A list is walked part by part, so that a stranger's
-- brackets cost no more than his text.
CREATE FUNCTION service.nested_traits(listed json) RETURNS TABLE (path bigint[], name text, value json, fault text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $body$
  WITH RECURSIVE walk (path, level, kind, name, item) AS (
    SELECT ARRAY[]::bigint[], 1, 'list', NULL::text, listed
    UNION ALL
    SELECT w.path || c.place, w.level + (c.kind = 'list')::integer, c.kind, c.name, c.item
    FROM walk w
    CROSS JOIN LATERAL (SELECT CASE WHEN json_typeof(w.item) = 'object' AND w.item -> 'trait_type' IS NOT NULL
      AND w.item -> 'value' IS NOT NULL THEN 'trait' ELSE json_typeof(w.item) END AS kind) k
    CROSS JOIN LATERAL (
      SELECT e.place, CASE coalesce(json_typeof(o.item), '') WHEN 'object' THEN 'trait' WHEN 'array' THEN 'list'
          ELSE CASE json_typeof(e.item) WHEN 'null' THEN 'nothing' ELSE 'fault' END END AS kind, NULL::text AS name, o.item
      FROM json_array_elements(CASE k.kind WHEN 'array' THEN w.item ELSE '[]' END) WITH ORDINALITY AS e (item, place)
      CROSS JOIN LATERAL (SELECT CASE json_typeof(e.item) WHEN 'string' THEN service.readable_json(e.item #>> '{}')
        ELSE e.item END AS item) o
      UNION ALL
      SELECT 1, 'trait', NULL, w.item WHERE k.kind = 'trait'
      UNION ALL
      SELECT m.place, CASE WHEN json_typeof(n.item) IN ('array', 'object') THEN 'list' ELSE 'member' END, m.key,
        CASE WHEN json_typeof(n.item) IN ('array', 'object') THEN n.item ELSE m.value END
      FROM (
        -- Of members with one name the last counts, as in every other object.
        SELECT min(e.place) AS place, e.key, (array_agg(e.value ORDER BY e.place DESC))[1] AS value
        FROM json_each(CASE k.kind WHEN 'object' THEN w.item ELSE '{}' END) WITH ORDINALITY AS e (key, value, place)
        GROUP BY e.key) m
      CROSS JOIN LATERAL (SELECT CASE WHEN m.key IN ('attributes', 'traits') THEN CASE json_typeof(m.value)
        WHEN 'string' THEN service.readable_json(m.value #>> '{}') ELSE m.value END END AS item) n
      UNION ALL
      SELECT 0, CASE WHEN t.item IS NULL THEN 'fault' ELSE 'list' END, NULL, t.item
      FROM (SELECT CASE k.kind WHEN 'string' THEN service.readable_json(w.item #>> '{}') END AS item) t
      WHERE k.kind = 'string' AND btrim(w.item #>> '{}', E' \t\r\n') <> ''
      UNION ALL
      SELECT 0, 'fault', NULL, NULL WHERE k.kind IN ('number', 'boolean')) c
    WHERE w.kind = 'list' AND w.level <= 4),
  parts AS MATERIALIZED (SELECT * FROM walk LIMIT 20000)
  SELECT p.path, CASE p.kind WHEN 'trait' THEN n.label #>> '{}' ELSE p.name END,
    CASE p.kind WHEN 'trait' THEN p.item -> 'value' WHEN 'member' THEN p.item END,
    CASE WHEN p.kind IN ('fault', 'list') THEN CASE WHEN 0 = ALL (p.path) THEN 'not_a_list' ELSE 'unreadable' END
      WHEN json_typeof(n.label) IN ('array', 'object') THEN 'unreadable' END
  FROM parts p
  CROSS JOIN LATERAL (SELECT CASE WHEN p.kind = 'trait' THEN CASE coalesce(json_typeof(p.item -> 'trait_type'), 'null')
    WHEN 'null' THEN p.item -> 'name' ELSE p.item -> 'trait_type' END END AS label) n
  WHERE p.kind IN ('trait', 'member', 'fault') OR p.kind = 'list' AND p.level > 4
  UNION ALL
  SELECT NULL, NULL, NULL, 'too_many' FROM (SELECT count(*) AS count FROM parts) c WHERE c.count >= 20000
$body$;

-- The same; a list of objects, as almost all are, is read without a walk.
CREATE FUNCTION service.listed_traits(listed json) RETURNS TABLE (path bigint[], name text, value json, fault text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $body$
BEGIN
  IF json_typeof(listed) <> 'array' OR EXISTS (SELECT FROM json_array_elements(listed) AS e (item)
    WHERE json_typeof(e.item) NOT IN ('object', 'null')) THEN
    RETURN QUERY SELECT * FROM service.nested_traits(listed);
  ELSE
    RETURN QUERY SELECT ARRAY[e.place], n.label #>> '{}', e.item -> 'value',
        CASE WHEN json_typeof(n.label) IN ('array', 'object') THEN 'unreadable' END
      FROM json_array_elements(listed) WITH ORDINALITY AS e (item, place)
      CROSS JOIN LATERAL (SELECT e.item -> 'trait_type' AS type) t
      CROSS JOIN LATERAL (SELECT CASE WHEN coalesce(json_typeof(t.type), 'null') = 'null' THEN e.item -> 'name'
        ELSE t.type END AS label) n
      WHERE json_typeof(e.item) = 'object';
  END IF;
END $body$;

-- The traits of one document, and beside them, in rows of their own, what could not be read: `attributes`, or `traits` where
-- that has none. Bounded in number and length, because the document is a third party's. `id` is what `{id}` stands for.
CREATE FUNCTION service.read_traits(document text, id text)
RETURNS TABLE (name text, value text, number numeric, warning text)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $body$
#variable_conflict use_column
DECLARE
  mark constant text := '\{id\}|%7Bid%7D';
  root json := service.readable_json(document);
  member text;
  names text[];
  texts text[];
  numbers boolean[];
  faults text[];
BEGIN
  IF json_typeof(root) IS DISTINCT FROM 'object' THEN RETURN; END IF;
  FOREACH member IN ARRAY ARRAY['attributes', 'traits'] LOOP
    SELECT array_agg(t.name ORDER BY t.path) FILTER (WHERE t.fault IS NULL),
      array_agg(t.value ORDER BY t.path) FILTER (WHERE t.fault IS NULL),
      array_agg(t.is_number ORDER BY t.path) FILTER (WHERE t.fault IS NULL),
      array_agg(DISTINCT t.fault) FILTER (WHERE t.fault IS NOT NULL)
      INTO names, texts, numbers, faults
    FROM (
      SELECT l.path, coalesce(l.name, '') AS name,
        -- Numbers as they are written, but those with a small exponent in all their digits.
        CASE WHEN k.kind = 'number' AND v.value ~ '^[-0-9.]{1,60}[eE][+-]?[0-9]{1,2}$' THEN v.value::numeric::text
          ELSE v.value END AS value,
        k.kind = 'number' AS is_number,
        CASE WHEN l.fault IS NOT NULL THEN l.fault
          WHEN coalesce(k.kind, 'array') IN ('array', 'object') THEN 'unreadable' END AS fault
      FROM service.listed_traits(root -> member) l
      CROSS JOIN LATERAL (SELECT json_typeof(l.value) AS kind) k
      CROSS JOIN LATERAL (SELECT l.value #>> '{}' AS value) v
      -- A value that is null is none, and so is nothing lost.
      WHERE k.kind IS DISTINCT FROM 'null') t;
    IF id IS NOT NULL THEN
      SELECT array_agg(regexp_replace(t.name, mark, id, 'gi') ORDER BY t.place),
        array_agg(regexp_replace(t.value, mark, id, 'gi') ORDER BY t.place)
        INTO names, texts
      FROM unnest(names, texts) WITH ORDINALITY AS t (name, value, place);
    END IF;
    IF cardinality(names) > 200 THEN
      faults := array_remove(faults, 'too_many') || 'too_many'::text;
      names := names[1:200];
      texts := texts[1:200];
      numbers := numbers[1:200];
    END IF;
    IF EXISTS (SELECT FROM unnest(names, texts) AS t (name, value) WHERE length(t.name) > 200 OR length(t.value) > 300) THEN
      faults := faults || 'cut'::text;
    END IF;
    RETURN QUERY SELECT DISTINCT ON (1, 2) left(t.name, 200), left(t.value, 300),
        -- Of texts those in digits alone: many an id or colour looks like a number with an exponent.
        CASE WHEN length(t.value) <= 1000 AND t.value ~ '^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?$'
          AND (t.is_number OR t.value !~ '[eE]') THEN t.value::numeric END,
        NULL::text
      FROM unnest(names, texts, numbers) AS t (name, value, is_number) ORDER BY 1, 2, t.is_number DESC;
    RETURN QUERY SELECT NULL::text, NULL::text, NULL::numeric, member || ':' || t.fault FROM unnest(faults) AS t (fault);
    IF names IS NOT NULL THEN RETURN; END IF;
  END LOOP;
EXCEPTION WHEN data_exception OR program_limit_exceeded OR statement_too_complex THEN
  RETURN QUERY SELECT NULL::text, NULL::text, NULL::numeric, coalesce(member, 'attributes') || ':unreadable';
END $body$;

CREATE OR REPLACE FUNCTION service.read_traits(document text)
RETURNS TABLE (name text, value text, number numeric, warning text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $body$
  SELECT t.name, t.value, t.number, t.warning FROM service.read_traits(document, NULL) t
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
  WITH found AS MATERIALIZED (SELECT * FROM service.read_traits(NEW.metadata, NEW.id_in_metadata)),
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
