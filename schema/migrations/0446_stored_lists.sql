-- A presale list counts what is stored of it: its entries, and of each the places in the tree (64 bytes), among the members (24)
-- and in the array (8). Lists of before count so once their rows change.
CREATE OR REPLACE FUNCTION service.measure_allowlist() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $$
BEGIN
  NEW.bytes := octet_length(array_to_string(NEW.entries, '')) + 96 * cardinality(NEW.entries);
  -- A process of an older version names no account.
  NEW.tenant_id := coalesce(NEW.tenant_id, service.tenant());
  RETURN NEW;
END $$;
