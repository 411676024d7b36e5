-- How each chain and each paying wallet was, for the plots of the console's operator page. Workers write a row for each period
-- of a chain and keep 48 hours of them; `at` is the begin of the period, so that two workers write one row.
CREATE TABLE service.chain_sample (
  chain_id integer NOT NULL,
  at timestamptz NOT NULL,
  -- Null: not known then.
  lag_seconds bigint CHECK (lag_seconds >= 0),
  lag_blocks bigint CHECK (lag_blocks >= 0),
  -- Requests whose outcome their clients wait for.
  waiting bigint NOT NULL CHECK (waiting >= 0),
  -- Of those that wait for a signature; null: none does.
  oldest_seconds bigint CHECK (oldest_seconds >= 0),
  PRIMARY KEY (chain_id, at)
);

CREATE TABLE service.wallet_sample (
  chain_id integer NOT NULL,
  addr bytea NOT NULL CHECK (octet_length(addr) = 20),
  at timestamptz NOT NULL,
  wei numeric(78, 0) NOT NULL CHECK (wei >= 0),
  PRIMARY KEY (chain_id, addr, at)
);

-- The HTTP process shows them and writes none.
ALTER TABLE service.chain_sample ENABLE ROW LEVEL SECURITY;
CREATE POLICY everybody ON service.chain_sample FOR SELECT USING (true);
ALTER TABLE service.wallet_sample ENABLE ROW LEVEL SECURITY;
CREATE POLICY everybody ON service.wallet_sample FOR SELECT USING (true);

-- What mined transactions of the last 24 hours cost, by the hour in which their nonce was given out: blocks come seconds later. Not
-- those that were recovered from the chain: their rows are as old as the recovery. A view reads with its owner's rights, and
-- this one shows nothing of any account.
CREATE INDEX nonce_reservation_spent ON service.nonce_reservation (created_at) WHERE mined_cost_wei IS NOT NULL;
CREATE VIEW service.hourly_spending AS
  SELECT chain_id, date_bin('1 hour', created_at, 'epoch') AS hour, sum(mined_cost_wei) AS wei
  FROM service.nonce_reservation
  WHERE mined_cost_wei IS NOT NULL AND NOT found
    AND created_at >= date_bin('1 hour', statement_timestamp(), 'epoch') - interval '23 hours'
  GROUP BY 1, 2;
