-- The hashes of a presale list's tree, stored once: a proof is a few of them, and to build the tree of 100,000 wallets
-- again takes seconds. Null for lists from before this; whoever asks for one first stores them.
ALTER TABLE service.allowlist
  -- Every level, leaves first, 32 bytes a node; a level has half the nodes of the one below it, rounded up.
  ADD COLUMN tree bytea,
  -- Address (20 bytes) and position of its leaf (4 bytes, big-endian), in the order of the addresses.
  ADD COLUMN members bytea,
  ADD CONSTRAINT allowlist_tree_whole CHECK ((tree IS NULL) = (members IS NULL));
-- Not compressed: only then a piece can be read without the whole. Hashes do not shrink anyway.
ALTER TABLE service.allowlist ALTER COLUMN tree SET STORAGE EXTERNAL, ALTER COLUMN members SET STORAGE EXTERNAL;

-- The siblings on the way from a wallet's leaf to the root, end to end; null for a wallet that is not listed.
-- `stored` is false where the list has no stored tree. Reads some forty pieces, whatever the length of the list.
CREATE FUNCTION service.allowlist_proof(list uuid, wallet bytea, OUT stored boolean, OUT proof bytea)
LANGUAGE plpgsql STABLE SET search_path = '' AS $$
DECLARE
  nodes integer;
  low integer := 0;
  high integer;
  middle integer;
  member bytea;
  leaf integer;
  level integer := 0;
BEGIN
  SELECT octet_length(a.members) / 24 INTO nodes FROM service.allowlist a WHERE a.id = list;
  stored := nodes IS NOT NULL;
  IF NOT stored THEN RETURN; END IF;
  high := nodes - 1;
  WHILE low <= high LOOP
    middle := (low + high) / 2;
    SELECT substring(a.members FROM middle * 24 + 1 FOR 24) INTO member FROM service.allowlist a WHERE a.id = list;
    IF substring(member FROM 1 FOR 20) = wallet THEN
      leaf := (get_byte(member, 20) << 24) | (get_byte(member, 21) << 16) | (get_byte(member, 22) << 8) | get_byte(member, 23);
      EXIT;
    ELSIF substring(member FROM 1 FOR 20) < wallet THEN low := middle + 1;
    ELSE high := middle - 1;
    END IF;
  END LOOP;
  IF leaf IS NULL THEN RETURN; END IF;
  proof := '';
  -- A node without a sibling moves up by itself.
  WHILE nodes > 1 LOOP
    IF leaf # 1 < nodes THEN
      SELECT proof || substring(a.tree FROM (level + (leaf # 1)) * 32 + 1 FOR 32) INTO proof
      FROM service.allowlist a WHERE a.id = list;
    END IF;
    level := level + nodes;
    nodes := (nodes + 1) / 2;
    leaf := leaf >> 1;
  END LOOP;
END $$;
