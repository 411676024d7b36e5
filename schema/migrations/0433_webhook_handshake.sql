-- An account that makes an endpoint may name somebody else's server. It is sent nothing but a challenge until it has
-- answered one.
ALTER TABLE service.webhook
  -- Null: not yet. Those that are there are taken as verified; so are those that a version before makes beside this one.
  ADD COLUMN verified_at timestamptz DEFAULT now(),
  -- Tries since its owner asked last.
  ADD COLUMN challenges integer NOT NULL DEFAULT 0,
  -- The last one, as in webhook_delivery.tries.
  ADD COLUMN challenge_try jsonb;

-- Of the newest day on which an account's endpoints were sent any. It outlasts endpoints that are deleted.
ALTER TABLE service.webhook_use
  ADD COLUMN challenges integer NOT NULL DEFAULT 0,
  ADD COLUMN challenge_day date;

-- Takes one challenge of the day, which is one message too, and says whether there was one: so many for each endpoint
-- that the account may have.
CREATE FUNCTION service.take_webhook_challenge(account uuid, of_endpoint integer) RETURNS boolean LANGUAGE plpgsql SET search_path = '' AS $$
DECLARE
  today date := (pg_catalog.clock_timestamp() AT TIME ZONE 'UTC')::date;
  most integer;
BEGIN
  -- Of its messages first: it makes the row, and locks it.
  IF service.take_webhook_tries(account, 1) = 0 THEN RETURN false; END IF;
  SELECT of_endpoint * greatest(1, coalesce(p.max_webhooks, 1000)) INTO most
    FROM service.account a JOIN service.plan p ON p.tier = a.tier WHERE a.id = account;
  UPDATE service.webhook_use u SET challenge_day = today, challenges = CASE WHEN u.challenge_day = today THEN u.challenges ELSE 0 END + 1
    WHERE u.account_id = account AND CASE WHEN u.challenge_day = today THEN u.challenges ELSE 0 END < most;
  IF FOUND THEN RETURN true; END IF;
  UPDATE service.webhook_use SET tries = tries - 1 WHERE account_id = account;
  RETURN false;
END $$;

-- As before, and those that have not answered.
CREATE OR REPLACE FUNCTION service.event_figures() RETURNS json LANGUAGE sql STABLE SECURITY DEFINER SET search_path = '' AS $$
  SELECT pg_catalog.json_build_object(
    'webhooks', (SELECT coalesce(pg_catalog.json_object_agg(s.state, s.count), '{}') FROM (
      SELECT CASE WHEN w.state <> 'enabled' THEN w.state WHEN w.verified_at IS NULL THEN 'unverified'
        WHEN w.failing_since IS NOT NULL THEN 'failing' ELSE w.state END AS state, count(*) AS count
      FROM service.webhook w GROUP BY 1) s),
    -- Of endpoints that answer. One that does not waits for its next try, and that is in order.
    'dueSeconds', (SELECT pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - min(w.next_due)) FROM service.webhook w
      WHERE w.state = 'enabled' AND w.next_due < pg_catalog.clock_timestamp() AND w.failing_since IS NULL),
    -- Without an endpoint nothing waits for one, whatever the head says until the worker moves it.
    'unmatchedSeconds', (SELECT pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - e.at)
      FROM service.webhook_head h CROSS JOIN LATERAL (
        SELECT e.at FROM service.event e WHERE e.sequence > h.sequence ORDER BY e.sequence LIMIT 1) e
      WHERE EXISTS (SELECT FROM service.webhook)))
$$;
