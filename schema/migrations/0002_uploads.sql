-- Uploads and where their bytes are. One CAR file on disk holds everything below one root; `block` finds a block by its
-- hash, `content_entry` a file by its path, `upload` says who sent it.

CREATE TABLE service.car (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- CIDv1, base32. The same content sent again shares this row and its file.
  root text NOT NULL UNIQUE,
  -- Name of the file in the ipfs folder; changes when a lost file is replaced by a new upload.
  file uuid NOT NULL UNIQUE,
  size bigint NOT NULL CHECK (size > 0),
  -- Whether `content_entry` has its files: all of them, or none. The tree of content that came as a CAR file may have
  -- folders in folders; such content is found by its blocks.
  listed boolean NOT NULL DEFAULT true,
  -- Content is read again from time to time, before somebody needs it and finds that the disk has lost it. When a worker
  -- reads the file next; moved ahead while one is at it, so that a dead worker's claim expires.
  check_after timestamptz NOT NULL DEFAULT now() + interval '1 day',
  checked_at timestamptz,
  -- What was wrong with the file when it was read last; null when it was whole.
  damage text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX car_check_after ON service.car (check_after);
CREATE INDEX car_damage ON service.car (id) WHERE damage IS NOT NULL;

-- A block may be in several CARs: each CAR is complete, so that it can be exported as it is.
CREATE TABLE service.block (
  multihash bytea NOT NULL,
  car_id bigint NOT NULL REFERENCES service.car (id) ON DELETE CASCADE,
  -- Of the block's first byte in the CAR file; the section's length and CID lie before it.
  position bigint NOT NULL CHECK (position > 0),
  size integer NOT NULL CHECK (size >= 0),
  PRIMARY KEY (multihash, car_id)
);
CREATE INDEX block_car ON service.block (car_id);

-- The files below a root, by path; '' is a root that is itself a file, whose type is found when it is read.
CREATE TABLE service.content_entry (
  car_id bigint NOT NULL REFERENCES service.car (id) ON DELETE CASCADE,
  path text NOT NULL,
  cid text NOT NULL,
  size bigint NOT NULL CHECK (size >= 0),
  content_type text,
  PRIMARY KEY (car_id, path)
);

CREATE TABLE service.upload (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  account_id uuid NOT NULL REFERENCES service.account (id),
  kind text NOT NULL CHECK (kind IN ('file', 'metadata', 'metadata_directory')),
  cid text NOT NULL,
  car_id bigint NOT NULL REFERENCES service.car (id),
  file_name text,
  content_type text,
  -- Bytes of the file; of all files together for a directory.
  size bigint NOT NULL CHECK (size >= 0),
  -- How bytes became CIDs; see src/ipfs/profile.ts.
  profile text NOT NULL,
  -- local: no remote driver was configured when it came. failed: needs a person, see pin_error.
  pin_state text NOT NULL CHECK (pin_state IN ('local', 'queued', 'pinned', 'failed')),
  pin_attempts integer NOT NULL DEFAULT 0,
  -- Not before this; moved ahead while a worker holds the row, so that a dead worker's claim expires.
  pin_due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  pin_error text,
  pinned_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX upload_account ON service.upload (account_id, created_at DESC, id);
CREATE INDEX upload_cid ON service.upload (cid);
CREATE INDEX upload_car ON service.upload (car_id);
CREATE INDEX upload_pin_queue ON service.upload (pin_due_at) WHERE pin_state = 'queued';
CREATE INDEX upload_pin_failed ON service.upload (pin_due_at) WHERE pin_state = 'failed';

-- What each account keeps: its uploads' sizes, the same content counted once, and its presale lists. Written by triggers,
-- because only the transaction that adds a row can count exactly.
CREATE TABLE service.account_storage (
  account_id uuid PRIMARY KEY REFERENCES service.account (id),
  bytes bigint NOT NULL CHECK (bytes >= 0),
  allowlists integer NOT NULL DEFAULT 0 CHECK (allowlists >= 0),
  allowlist_bytes bigint NOT NULL DEFAULT 0 CHECK (allowlist_bytes >= 0)
);

-- The account's row is taken before anything is counted, so that two uploads of one account see each other. Definer's
-- rights: the role of the HTTP process may not write what is counted here.
CREATE FUNCTION service.count_storage() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  most bigint;
  used bigint;
BEGIN
  INSERT INTO service.account_storage AS s (account_id, bytes) VALUES (NEW.account_id, 0)
    ON CONFLICT (account_id) DO UPDATE SET bytes = s.bytes;
  IF EXISTS (SELECT FROM service.upload u
             WHERE u.cid = NEW.cid AND u.account_id = NEW.account_id AND u.id <> NEW.id) THEN
    RETURN NULL;
  END IF;
  UPDATE service.account_storage s SET bytes = s.bytes + NEW.size WHERE s.account_id = NEW.account_id
    RETURNING s.bytes INTO used;
  SELECT p.storage_bytes INTO most
    FROM service.account a JOIN service.plan p ON p.tier = a.tier WHERE a.id = NEW.account_id;
  IF used > most THEN
    RAISE EXCEPTION 'your plan keeps % bytes, and this upload would make it %', most, used USING ERRCODE = 'MY001';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER upload_count AFTER INSERT ON service.upload FOR EACH ROW EXECUTE FUNCTION service.count_storage();

-- What the watch of the disk asks: the sizes are everybody's, which no account's rows show.
CREATE FUNCTION service.storage_in_use(measure_database boolean, OUT free_bytes bigint, OUT database_bytes bigint)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = '' AS $$
  SELECT (SELECT coalesce(sum(s.bytes + s.allowlist_bytes), 0)::bigint FROM service.account_storage s
      JOIN service.account a ON a.id = s.account_id WHERE a.tier = 'free'),
    CASE WHEN measure_database THEN pg_catalog.pg_database_size(pg_catalog.current_database()) END
$$;
