-- A worker gives a request its nonce and stores its signature in one commit, so a request is `assigned` only where an earlier
-- version gave it the nonce.
INSERT INTO service.intent_edge VALUES ('queued', 'signed'), ('held', 'signed'), ('held', 'batched');
