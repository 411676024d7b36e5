-- What the chain below may take for a transaction's data, beside its gas (chains of the OP stack). Bytes that were signed
-- before cost what they cost: blocks tell.
ALTER TABLE service.attempt ADD COLUMN data_wei numeric(78, 0) NOT NULL DEFAULT 0;
COMMENT ON COLUMN service.attempt.data_wei IS 'most that the chain below was to take for the data of these bytes when they were signed, in wei';
