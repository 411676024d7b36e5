-- What the peers read: the same tables through narrow views, with the relations that their schemas are made from.
CREATE SCHEMA IF NOT EXISTS peer;
CREATE OR REPLACE VIEW peer.token AS
  SELECT contract, token_id, standard, owner, supply, creator, mint_timestamp FROM c31337_bench.token;
CREATE OR REPLACE VIEW peer.metadata AS
  SELECT contract, token_id, name, description, token_uri, metadata, image, animation_url, cached_image, fetched_at
  FROM service.token_metadata WHERE chain_id = 31337;
CREATE OR REPLACE VIEW peer.contract AS
  SELECT c.address, c.standard, m.name, m.symbol, m.description FROM c31337_bench.contract c
  LEFT JOIN service.contract_metadata m ON m.chain_id = 31337 AND m.address = c.address;
COMMENT ON VIEW peer.token IS E'@primaryKey contract,token_id
@foreignKey (contract, token_id) references metadata (contract, token_id)|@fieldName document
@foreignKey (contract) references contract (address)|@fieldName record
@behavior +filterBy +orderBy';
COMMENT ON VIEW peer.metadata IS E'@primaryKey contract,token_id';
COMMENT ON VIEW peer.contract IS E'@primaryKey address';
CREATE OR REPLACE FUNCTION peer.held(account text) RETURNS SETOF peer.token LANGUAGE sql STABLE AS
  $$ SELECT * FROM peer.token WHERE owner = decode(substr(account, 3), 'hex') ORDER BY contract, token_id $$;
CREATE OR REPLACE FUNCTION peer.minted(address text) RETURNS SETOF peer.token LANGUAGE sql STABLE AS
  $$ SELECT * FROM peer.token WHERE contract = decode(substr(address, 3), 'hex') AND supply > 0 ORDER BY contract, token_id $$;
