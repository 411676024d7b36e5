-- What an account's endpoints may cost. Null: no limit. Endpoints that an account has already stay.
ALTER TABLE service.plan
  ADD COLUMN max_webhooks integer CHECK (max_webhooks >= 0),
  -- Messages of a day (UTC), whatever becomes of them.
  ADD COLUMN webhook_tries_per_day integer CHECK (webhook_tries_per_day > 0),
  -- Whether an endpoint may get events of a whole chain and not of named contracts.
  ADD COLUMN whole_chain_webhooks boolean NOT NULL DEFAULT true;
UPDATE service.plan SET max_webhooks = 5, webhook_tries_per_day = 10000, whole_chain_webhooks = false WHERE tier = 'free';
UPDATE service.plan SET max_webhooks = 50, webhook_tries_per_day = 200000 WHERE tier = 'growth';
UPDATE service.plan SET max_webhooks = 200, webhook_tries_per_day = 2000000 WHERE tier = 'scale';

-- Messages of the newest day on which an account was sent any.
CREATE TABLE service.webhook_use (
  account_id uuid PRIMARY KEY REFERENCES service.account (id),
  day date NOT NULL,
  tries integer NOT NULL
);
ALTER TABLE service.webhook_use ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON service.webhook_use FOR SELECT USING (account_id = (SELECT service.tenant()));

-- Takes messages of the day before they are sent, and says how many there were: several endpoints are sent to at once.
CREATE FUNCTION service.take_webhook_tries(account uuid, most integer) RETURNS integer LANGUAGE plpgsql SET search_path = '' AS $$
DECLARE
  taken integer;
BEGIN
  INSERT INTO service.webhook_use AS u (account_id, day, tries)
    VALUES (account, (pg_catalog.clock_timestamp() AT TIME ZONE 'UTC')::date, 0)
    ON CONFLICT (account_id) DO UPDATE SET day = excluded.day, tries = CASE WHEN u.day = excluded.day THEN u.tries ELSE 0 END;
  taken := greatest(0, least(most, coalesce(service.webhook_tries_left(account), most)));
  UPDATE service.webhook_use SET tries = tries + taken WHERE account_id = account;
  RETURN taken;
END $$;

-- How many messages an account's endpoints may still be sent today; null: any number.
CREATE FUNCTION service.webhook_tries_left(account uuid) RETURNS integer LANGUAGE sql STABLE SET search_path = '' AS $$
  SELECT p.webhook_tries_per_day - coalesce((SELECT u.tries FROM service.webhook_use u
      WHERE u.account_id = account AND u.day = (pg_catalog.clock_timestamp() AT TIME ZONE 'UTC')::date), 0)
    FROM service.account a JOIN service.plan p ON p.tier = a.tier WHERE a.id = account
$$;
