-- What collections are made of: presale lists, and the deployments that a creator's own wallet sends (mode SIGN).

-- Presale lists in the spelling and order that were sent, without repeats: the order decides the root.
CREATE TABLE service.allowlist (
  id uuid PRIMARY KEY,
  tenant_id uuid REFERENCES service.account (id),
  root bytea NOT NULL CHECK (octet_length(root) = 32),
  entries text[] NOT NULL,
  -- Of its entries; 0 once they were cleared away.
  bytes bigint NOT NULL DEFAULT 0 CHECK (bytes >= 0),
  -- The hashes of the list's tree, stored once: a proof is a few of them, and to build the tree of 100,000 wallets again
  -- takes seconds. Null until somebody asks for a proof. Every level, leaves first, 32 bytes a node; a level has half
  -- the nodes of the one below it, rounded up.
  tree bytea STORAGE EXTERNAL,
  -- Address (20 bytes) and position of its leaf (4 bytes, big-endian), in the order of the addresses. Neither is
  -- compressed: only then a piece can be read without the whole. Hashes do not shrink anyway.
  members bytea STORAGE EXTERNAL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT allowlist_tree_whole CHECK ((tree IS NULL) = (members IS NULL))
);

CREATE FUNCTION service.measure_allowlist() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $$
BEGIN
  NEW.bytes := octet_length(array_to_string(NEW.entries, ''));
  -- A process of an older version names no account.
  NEW.tenant_id := coalesce(NEW.tenant_id, service.tenant());
  RETURN NEW;
END $$;
CREATE TRIGGER allowlist_measure BEFORE INSERT OR UPDATE ON service.allowlist
  FOR EACH ROW EXECUTE FUNCTION service.measure_allowlist();

-- Definer's rights: the role of the HTTP process may not write what is counted here.
CREATE FUNCTION service.count_allowlist() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  most integer;
  most_bytes bigint;
  used service.account_storage;
  before bigint := CASE TG_OP WHEN 'INSERT' THEN 0 ELSE OLD.bytes END;
  after bigint := CASE TG_OP WHEN 'DELETE' THEN 0 ELSE NEW.bytes END;
  -- A list that was cleared counts no more, whether its row stays or goes.
  more integer := (after > 0)::int - (before > 0)::int;
  owner uuid := CASE TG_OP WHEN 'DELETE' THEN OLD.tenant_id ELSE NEW.tenant_id END;
BEGIN
  IF owner IS NULL OR before = after THEN RETURN NULL; END IF;
  INSERT INTO service.account_storage AS s (account_id, bytes, allowlists, allowlist_bytes)
    VALUES (owner, 0, greatest(more, 0), greatest(after - before, 0))
    ON CONFLICT (account_id) DO UPDATE SET allowlists = greatest(s.allowlists + more, 0),
      allowlist_bytes = greatest(s.allowlist_bytes + after - before, 0)
    RETURNING * INTO used;
  IF TG_OP <> 'INSERT' THEN RETURN NULL; END IF;
  SELECT p.max_allowlists, p.allowlist_bytes INTO most, most_bytes
    FROM service.account a JOIN service.plan p ON p.tier = a.tier WHERE a.id = owner;
  IF used.allowlists > most THEN
    RAISE EXCEPTION 'your plan keeps % presale lists, and this would be one more', most USING ERRCODE = 'MY001';
  END IF;
  IF used.allowlist_bytes > most_bytes THEN
    RAISE EXCEPTION 'your plan keeps % bytes of presale lists, and this one would make it %', most_bytes, used.allowlist_bytes
      USING ERRCODE = 'MY001';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER allowlist_count AFTER INSERT OR UPDATE OR DELETE ON service.allowlist
  FOR EACH ROW EXECUTE FUNCTION service.count_allowlist();

-- The siblings on the way from a wallet's leaf to the root, end to end; null for a wallet that is not listed. `stored` is
-- false where the list has no stored tree. Reads some forty pieces, whatever the length of the list.
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

-- The HTTP process changes no presale list; the tree of one it adds once, when there is none. Definer's rights, since
-- whoever asks for a list's first proof may be of another account, or of none.
CREATE FUNCTION service.store_allowlist_tree(list uuid, list_root bytea, list_tree bytea, list_members bytea)
  RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
  UPDATE service.allowlist a SET tree = list_tree, members = list_members
  WHERE a.id = list AND a.root = list_root AND a.tree IS NULL
$$;

-- Collections that a creator's own wallet deploys. The service returns the bytes of the creation and finds them again on
-- the chain: the row's id is appended to the init code, where the constructor does not read it, so no other request, of
-- this account or another, has these bytes.
CREATE TABLE service.self_deployment (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES service.account (id),
  chain_id integer NOT NULL,
  -- SHA-256 of the request in canonical form: asking again gives the same bytes while they are awaited.
  req_hash bytea NOT NULL CHECK (octet_length(req_hash) = 32),
  payload jsonb NOT NULL,
  allowlist_id uuid REFERENCES service.allowlist (id),
  owner bytea NOT NULL CHECK (octet_length(owner) = 20),
  init_code_hash bytea NOT NULL UNIQUE CHECK (octet_length(init_code_hash) = 32),
  init_code_bytes integer NOT NULL CHECK (init_code_bytes > 0),
  -- Whose transaction counts: the bytes are public as soon as they are pending, and who sends them becomes an admin of
  -- the collection. Wallets that the account named as senders, the newest last; the configured owner counts beside them.
  senders bytea[] NOT NULL DEFAULT '{}' CHECK (cardinality(senders) <= 8),
  -- The transaction that the account itself named: it decides.
  reported_tx bytea CHECK (octet_length(reported_tx) = 32),
  -- Last block whose logs were searched.
  scanned_to bigint NOT NULL CHECK (scanned_to >= 0),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Not searched for any more after that.
  expires_at timestamptz NOT NULL DEFAULT clock_timestamp() + interval '30 days',
  -- Where it was found; null again when a reorganisation takes the block away.
  address bytea CHECK (octet_length(address) = 20),
  tx_hash bytea CHECK (octet_length(tx_hash) = 32),
  block_number bigint,
  block_hash bytea CHECK (octet_length(block_hash) = 32),
  finalized boolean NOT NULL DEFAULT false,
  CHECK ((address IS NULL) = (tx_hash IS NULL) AND (address IS NULL) = (block_number IS NULL)
    AND (address IS NULL) = (block_hash IS NULL)),
  CHECK (address IS NOT NULL OR NOT finalized)
);
CREATE UNIQUE INDEX self_deployment_address ON service.self_deployment (chain_id, address);
CREATE INDEX self_deployment_open ON service.self_deployment (chain_id, scanned_to) WHERE NOT finalized;
CREATE INDEX self_deployment_tenant ON service.self_deployment (tenant_id, chain_id, req_hash);
CREATE INDEX self_deployment_tx ON service.self_deployment (tx_hash);
CREATE INDEX self_deployment_allowlist ON service.self_deployment (allowlist_id) WHERE allowlist_id IS NOT NULL;
CREATE INDEX self_deployment_expired ON service.self_deployment (expires_at) WHERE address IS NULL;

CREATE FUNCTION service.count_awaited() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  most integer;
  awaited integer;
BEGIN
  SELECT p.max_awaited_deployments INTO most
    FROM service.account a JOIN service.plan p ON p.tier = a.tier WHERE a.id = NEW.tenant_id;
  IF most IS NULL THEN RETURN NULL; END IF;
  -- Taken before it is counted, so that two requests of one account see each other.
  INSERT INTO service.account_storage AS s (account_id, bytes) VALUES (NEW.tenant_id, 0)
    ON CONFLICT (account_id) DO UPDATE SET bytes = s.bytes;
  SELECT count(*) INTO awaited FROM service.self_deployment d WHERE d.tenant_id = NEW.tenant_id AND d.address IS NULL;
  IF awaited > most THEN
    RAISE EXCEPTION 'your plan keeps % prepared deployments that were not sent; send some, or wait until they expire', most
      USING ERRCODE = 'MY001';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER self_deployment_count AFTER INSERT ON service.self_deployment
  FOR EACH ROW EXECUTE FUNCTION service.count_awaited();
