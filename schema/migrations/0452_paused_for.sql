-- A wallet that is paused for funds waits for the money of one request. Once that request was cancelled, has expired or waits for
-- something else, the wallet opens: what it can pay must not wait for what nobody asks for any more.
ALTER TABLE service.relayer_wallet ADD COLUMN needed_for uuid;
