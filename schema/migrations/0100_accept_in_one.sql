-- The statement that accepts a request sets aside what it may cost; this takes all of it back when a limit had no
-- room. One statement, because everybody who spends from the same limits waits from its end to the commit.
CREATE FUNCTION service.require_limits(wanted bigint, kept text[]) RETURNS text[] LANGUAGE plpgsql
  SET search_path = '' AS $$
BEGIN
  IF coalesce(cardinality(kept), 0) < wanted THEN
    RAISE EXCEPTION 'a spending limit has no room'
      USING ERRCODE = 'MY002', DETAIL = array_to_json(coalesce(kept, '{}'))::text;
  END IF;
  RETURN kept;
END $$;
