-- Stored content is read again from time to time, before somebody needs it and finds that the disk has lost it.
-- Existing rows become due a day from now, new ones a day after they were written.
ALTER TABLE service.car
  -- When a worker looks at the file next; moved ahead while one is at it, so that a dead worker's claim expires.
  ADD COLUMN check_after timestamptz NOT NULL DEFAULT now() + interval '1 day',
  ADD COLUMN checked_at timestamptz,
  -- What was wrong with the file when it was read last; null when it was whole.
  ADD COLUMN damage text;
CREATE INDEX car_check_after ON service.car (check_after);
CREATE INDEX car_damage ON service.car (id) WHERE damage IS NOT NULL;

-- The type of a file that is a root by itself was what its first sender said, for everybody. It is what the bytes say
-- now: found when it is read, and stored with what comes from here on.
UPDATE service.content_entry SET content_type = NULL WHERE path = '';
