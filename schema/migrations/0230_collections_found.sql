-- The block of the transaction that made the collection, where it is none of the intent's own nonce.
ALTER TABLE service.intent ADD COLUMN found_block bigint CHECK (found_block IS NULL OR found_tx IS NOT NULL);

-- A collection that another transaction made is one like others, with that transaction; its own nonce, if it has one, was
-- used for something else. Rows of before name no block.
CREATE OR REPLACE VIEW service.collection AS
WITH deployed AS (
  SELECT i.id, i.tenant_id, i.chain_id, i.predicted_addr AS address, i.payload, i.allowlist_id, i.created_at,
    coalesce(i.found_tx, s.mined_attempt) AS tx_hash,
    CASE WHEN i.found_tx IS NULL THEN s.mined_block ELSE coalesce(i.found_block, 0) END AS block_number, true AS relayed
  FROM service.intent i LEFT JOIN service.nonce_reservation s ON s.intent_id = i.id
  WHERE i.kind = 'deploy' AND i.state IN ('confirmed', 'finalized') AND (i.found_tx IS NOT NULL OR s.intent_id IS NOT NULL)
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
-- Replaced views keep their options; said again because one account must never see another's rows.
ALTER VIEW service.collection SET (security_invoker = true);
