-- The collections that stand, whoever's wallet deployed them, with their settings as of the last update
-- that the service sent: each update holds only the settings it changed, so they are laid over one another
-- in the order in which the chain took them.
CREATE AGGREGATE service.jsonb_overlay(jsonb) (SFUNC = jsonb_concat, STYPE = jsonb, INITCOND = '{}');

CREATE VIEW service.collection AS
WITH deployed AS (
  SELECT i.id, i.tenant_id, i.chain_id, i.predicted_addr AS address, i.payload, i.allowlist_id, i.created_at,
    s.mined_attempt AS tx_hash, s.mined_block AS block_number, true AS relayed
  FROM service.intent i JOIN service.nonce_reservation s ON s.intent_id = i.id
  WHERE i.kind = 'deploy' AND i.state IN ('confirmed', 'finalized')
  UNION ALL
  SELECT d.id, d.tenant_id, d.chain_id, d.address, d.payload, d.allowlist_id, d.created_at, d.tx_hash, d.block_number, false
  FROM service.self_deployment d
  WHERE d.address IS NOT NULL
)
SELECT d.id, d.tenant_id, d.chain_id, d.address, d.created_at, d.tx_hash, d.block_number, d.relayed,
  d.payload || coalesce(u.changes, '{}') AS settings,
  -- A list that was emptied is a null that replaces.
  CASE WHEN u.changes ? 'presaleMerkleRoot' THEN u.allowlist_id ELSE d.allowlist_id END AS allowlist_id,
  u.updated_at
FROM deployed d
LEFT JOIN LATERAL (
  SELECT service.jsonb_overlay(i.payload -> 'changes' ORDER BY s.mined_block, s.nonce) AS changes,
    (array_agg(i.allowlist_id ORDER BY s.mined_block DESC, s.nonce DESC) FILTER (WHERE i.payload -> 'changes' ? 'presaleMerkleRoot'))[1] AS allowlist_id,
    max(i.settled_at) AS updated_at
  FROM service.intent i JOIN service.nonce_reservation s ON s.intent_id = i.id
  WHERE i.kind = 'update' AND i.chain_id = d.chain_id AND i.predicted_addr = d.address
    AND i.state IN ('confirmed', 'finalized')
) u ON true;

-- Every presale list that a collection was ever asked to have, by its root: proofs of older lists stay readable.
CREATE VIEW service.collection_allowlist AS
SELECT i.chain_id, i.predicted_addr AS address, i.tenant_id, i.allowlist_id,
  decode(substr(coalesce(i.payload -> 'changes', i.payload) ->> 'presaleMerkleRoot', 3), 'hex') AS root, i.created_at,
  i.state IN ('confirmed', 'finalized') AS stood
FROM service.intent i
WHERE coalesce(i.payload -> 'changes', i.payload) ? 'presaleMerkleRoot' AND i.state NOT IN ('cancelled', 'expired', 'failed_onchain', 'retried')
UNION ALL
SELECT d.chain_id, d.address, d.tenant_id, d.allowlist_id,
  decode(substr(d.payload ->> 'presaleMerkleRoot', 3), 'hex'), d.created_at, true
FROM service.self_deployment d
WHERE d.address IS NOT NULL;
