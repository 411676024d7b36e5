-- Content that came as a CAR file: its tree may have folders in folders, so it is found by its blocks.
-- `content_entry` has every file of a CAR that is listed, and none of one that is not.
ALTER TABLE service.car ADD COLUMN listed boolean NOT NULL DEFAULT true;
