-- Spending limits. A request reserves what it may cost at worst in the transaction that accepts it; the receipt
-- settles it. Scopes: `tenant:<id>:<chain>` by day and `chain:<id>` by hour in wei, `global` by hour in transactions.
CREATE TABLE service.budget (
  scope text NOT NULL,
  period timestamptz NOT NULL,
  -- As configured when it was last used.
  allowed numeric(78, 0) NOT NULL,
  reserved numeric(78, 0) NOT NULL DEFAULT 0 CHECK (reserved >= 0),
  spent numeric(78, 0) NOT NULL DEFAULT 0 CHECK (spent >= 0),
  PRIMARY KEY (scope, period),
  CHECK (reserved + spent <= allowed)
);

-- What one intent holds of a budget; `settled` when it was given back or spent.
CREATE TABLE service.budget_entry (
  intent_id uuid NOT NULL REFERENCES service.intent (id),
  scope text NOT NULL,
  period timestamptz NOT NULL,
  amount numeric(78, 0) NOT NULL CHECK (amount >= 0),
  settled boolean NOT NULL DEFAULT false,
  PRIMARY KEY (intent_id, scope),
  FOREIGN KEY (scope, period) REFERENCES service.budget (scope, period)
);

-- An intent that ends gives back what it reserved, less what its receipt says it cost. Here and not in a process:
-- whoever moves the intent, by whatever statement, the books stay right.
CREATE FUNCTION service.settle_budget() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  entry service.budget_entry;
  cost numeric(78, 0);
BEGIN
  SELECT s.mined_cost_wei INTO cost FROM service.nonce_reservation s WHERE s.intent_id = NEW.id AND s.state = 'mined';
  FOR entry IN
    SELECT * FROM service.budget_entry e WHERE e.intent_id = NEW.id AND NOT e.settled ORDER BY e.scope
  LOOP
    UPDATE service.budget_entry e SET settled = true WHERE e.intent_id = entry.intent_id AND e.scope = entry.scope;
    UPDATE service.budget b SET
      reserved = b.reserved - entry.amount,
      spent = b.spent + v.used,
      allowed = greatest(b.allowed, b.reserved - entry.amount + b.spent + v.used)
    FROM (SELECT CASE WHEN entry.scope = 'global' THEN CASE WHEN cost IS NULL THEN 0 ELSE 1 END
                      ELSE coalesce(cost, 0) END AS used) v
    WHERE b.scope = entry.scope AND b.period = entry.period;
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER intent_settle AFTER UPDATE OF state ON service.intent FOR EACH ROW
  WHEN (NEW.state IN ('finalized', 'failed_onchain', 'cancelled', 'expired', 'retried') AND OLD.state <> NEW.state)
  EXECUTE FUNCTION service.settle_budget();

-- What the wallet's next transaction needs, while it is paused for funds.
ALTER TABLE service.relayer_wallet ADD COLUMN needed_wei numeric(78, 0);
