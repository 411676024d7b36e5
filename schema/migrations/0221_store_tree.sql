-- The HTTP process changes no presale list; the tree of one it adds once, when there is none. Definer's rights, since
-- whoever asks for a list's first proof may be of another account, or of none.
CREATE FUNCTION service.store_allowlist_tree(list uuid, list_root bytea, list_tree bytea, list_members bytea)
  RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
  UPDATE service.allowlist a SET tree = list_tree, members = list_members
  WHERE a.id = list AND a.root = list_root AND a.tree IS NULL
$$;
