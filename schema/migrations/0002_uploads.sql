-- Uploads and where their bytes lie. One CAR file on disk holds everything below one root; `block`
-- finds a block by its hash, `content_entry` a file by its path, `upload` says who sent it.
CREATE TABLE service.car (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- CIDv1, base32. The same content sent again shares this row and its file.
  root text NOT NULL UNIQUE,
  -- Name of the file in the ipfs folder; changes when a lost file is replaced by a new upload.
  file uuid NOT NULL UNIQUE,
  size bigint NOT NULL CHECK (size > 0),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- A block may lie in several CARs: each CAR is complete, so that it can be handed on as it is.
CREATE TABLE service.block (
  multihash bytea NOT NULL,
  car_id bigint NOT NULL REFERENCES service.car (id) ON DELETE CASCADE,
  -- Of the block's first byte in the CAR file; the section's length and CID lie before it.
  position bigint NOT NULL CHECK (position > 0),
  size integer NOT NULL CHECK (size >= 0),
  PRIMARY KEY (multihash, car_id)
);
CREATE INDEX block_car ON service.block (car_id);

-- The files below a root, by path; '' is a root that is itself a file.
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
