-- What the worker looks at in each round, without what has ended: there may be millions of those.
CREATE INDEX intent_confirmed ON service.intent (chain_id, seq) WHERE state = 'confirmed';
CREATE INDEX intent_update_turn ON service.intent (chain_id, predicted_addr, seq)
  WHERE kind = 'update' AND state NOT IN ('finalized', 'failed_onchain', 'cancelled', 'expired', 'retried', 'confirmed');
