-- Updates of collections that a block has, of everybody: what a mint page shows may be another after each. A view reads with its
-- owner's rights, so the HTTP process sees these although it sees no other tenant's rows.
CREATE VIEW service.mined_update AS
SELECT i.chain_id, i.predicted_addr AS address, s.mined_block AS block_number
FROM service.intent i JOIN service.nonce_reservation s ON s.intent_id = i.id
WHERE i.kind = 'update' AND s.mined_block IS NOT NULL;
