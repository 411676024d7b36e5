-- An endpoint is a place in the order of events. Until now each event had a row for each endpoint that it matched: fifty
-- endpoints and one transaction of a contract made 25,000.
ALTER TABLE service.webhook
  -- Events up to this one are done, or stand in webhook_delivery; so do those in `ahead`, which come after it.
  ADD COLUMN cursor bigint NOT NULL DEFAULT 0,
  ADD COLUMN ahead bigint[] NOT NULL DEFAULT '{}',
  -- The newest event that its filter matched: none waits unless it is above the cursor.
  ADD COLUMN wanted bigint NOT NULL DEFAULT 0,
  -- What is sent again, the oldest first: {cursor, ahead, upto, fromBlock, toBlock}.
  ADD COLUMN replays jsonb NOT NULL DEFAULT '[]',
  -- Why what waits is not sent yet (src/events/webhook-record.ts).
  ADD COLUMN held text;
-- What was matched before has its rows. They are sent first.
UPDATE service.webhook w SET cursor = h.sequence, wanted = h.sequence FROM service.webhook_head h;

-- Tries as they came: {attempt, at, status, fault, milliseconds, answer}. Those of before are in webhook_try.
ALTER TABLE service.webhook_delivery ADD COLUMN tries jsonb NOT NULL DEFAULT '[]';
-- Of what was delivered the newest are kept.
CREATE INDEX webhook_delivery_log ON service.webhook_delivery (webhook_id, id) WHERE state = 'delivered';

-- The API's login may not read webhook_head.
CREATE FUNCTION service.webhooks_matched() RETURNS bigint LANGUAGE sql STABLE SECURITY DEFINER SET search_path = '' AS $$
  SELECT h.sequence FROM service.webhook_head h
$$;

-- A worker of the version before knows rows alone: it would put an endpoint to rest that has none, and has events behind its
-- cursor. It looks again soon, until a worker of this version has sent them.
CREATE FUNCTION service.keep_webhook_due() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $$
BEGIN
  NEW.next_due := pg_catalog.clock_timestamp() + interval '2 seconds';
  RETURN NEW;
END $$;
CREATE TRIGGER webhook_keep_due BEFORE UPDATE OF next_due ON service.webhook FOR EACH ROW
  WHEN (NEW.next_due IS NULL AND NEW.held IS NULL AND (NEW.wanted > NEW.cursor OR NEW.replays <> '[]'))
  EXECUTE FUNCTION service.keep_webhook_due();
