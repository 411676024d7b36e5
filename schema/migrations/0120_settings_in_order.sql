-- Of each member the update that was accepted last holds, also when an earlier one had to be repeated behind it.
CREATE OR REPLACE VIEW service.collection AS
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
  SELECT service.jsonb_overlay(i.payload -> 'changes' || coalesce(i.payload -> 'spelling', '{}') ORDER BY i.seq) AS changes,
    (array_agg(i.allowlist_id ORDER BY i.seq DESC) FILTER (WHERE i.payload -> 'changes' ? 'presaleMerkleRoot'))[1] AS allowlist_id,
    max(i.settled_at) AS updated_at
  FROM service.intent i JOIN service.nonce_reservation s ON s.intent_id = i.id
  WHERE i.kind = 'update' AND i.chain_id = d.chain_id AND i.predicted_addr = d.address
    AND i.state IN ('confirmed', 'finalized')
) u ON true;
