-- Documents that were stored while one odd member cost them their traits: those of them that have none are read again.
WITH found AS MATERIALIZED (
  SELECT m.chain_id, m.contract, m.token_id, t.name, t.value, t.number, t.warning
  FROM service.token_metadata m
  CROSS JOIN LATERAL service.read_traits(CASE WHEN m.id_in_metadata IS NULL THEN m.metadata
    ELSE regexp_replace(m.metadata, '\{id\}|%7Bid%7D', m.id_in_metadata, 'gi') END) t
  WHERE m.metadata ~ '"(attributes|traits)"' AND NOT EXISTS (SELECT FROM service.token_trait r
    WHERE r.chain_id = m.chain_id AND r.contract = m.contract AND r.token_id = m.token_id)),
kept AS (
  INSERT INTO service.token_trait (chain_id, contract, name, value, token_id, number)
  SELECT chain_id, contract, name, value, token_id, number FROM found WHERE warning IS NULL
  ON CONFLICT DO NOTHING)
UPDATE service.token_metadata m SET trait_warnings = told.warnings
FROM (SELECT chain_id, contract, token_id, array_agg(warning ORDER BY warning) AS warnings FROM found
  WHERE warning IS NOT NULL GROUP BY chain_id, contract, token_id) told
WHERE m.chain_id = told.chain_id AND m.contract = told.contract AND m.token_id = told.token_id;
