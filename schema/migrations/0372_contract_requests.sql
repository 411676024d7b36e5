-- Who made a contract and what was changed of it: found beside any number of mints in it.
CREATE INDEX intent_contract ON service.intent (chain_id, predicted_addr, kind)
  WHERE kind IN ('deploy', 'contract', 'contract_update');

-- What became of a contract's tokens by requests, beside any number of mints.
CREATE INDEX intent_moved ON service.intent (chain_id, predicted_addr, kind)
  WHERE kind IN ('burn', 'transfer', 'token_update');
