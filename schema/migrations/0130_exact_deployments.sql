-- Whose transaction counts as the deployment of a request: its bytes are public as soon as they are pending, and
-- who sends them becomes an admin of the collection.
ALTER TABLE service.self_deployment
  -- Wallets that the account named as senders, the newest last; the configured owner counts beside them.
  ADD COLUMN senders bytea[] NOT NULL DEFAULT '{}' CHECK (cardinality(senders) <= 8),
  -- The transaction that the account itself named: it decides.
  ADD COLUMN reported_tx bytea CHECK (octet_length(reported_tx) = 32);

-- What was detected by less than its exact bytes may be a trap: each one is looked at once more.
UPDATE service.self_deployment SET finalized = false WHERE finalized;
