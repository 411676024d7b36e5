-- What answers show of metadata, as text that was made when the metadata was stored (docs/decisions/0011). The function
-- and triggers that make it are put there at each start, because what is shown changes with the version.

ALTER TABLE service.token_metadata
  ADD COLUMN rendered text,
  -- Which version's fields `rendered` has; any other than the reader's own is made again by the statement that reads it.
  ADD COLUMN rendered_as text;
ALTER TABLE service.contract_metadata
  ADD COLUMN rendered text,
  ADD COLUMN rendered_as text;

-- How far old rows were rendered again, per table and version of the fields.
CREATE TABLE service.rendering (
  relation text NOT NULL,
  rendered_as text NOT NULL,
  -- The primary key of the last row, as text; null: none yet.
  position text[],
  done_at timestamptz,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (relation, rendered_as)
);
