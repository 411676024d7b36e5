-- A worker signs what clients wait for: new requests for half a minute, earlier ones when their client asks again. The HTTP
-- process signs nothing; it asks and looks through two functions.
CREATE TABLE service.signature_wait (
  intent_id uuid PRIMARY KEY,
  chain_id integer NOT NULL,
  -- When its client asked last; of a new request its acceptance counts too.
  asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Why it could not be signed at the last try, in words for the client.
  reason text
);
CREATE INDEX signature_wait_asked ON service.signature_wait (chain_id, asked_at);
CREATE INDEX intent_unsigned ON service.intent (chain_id, created_at) WHERE state IN ('queued', 'held', 'assigned');

-- The one worker that signs waiting requests of a chain, until its lease ends; others would do the same work.
CREATE TABLE service.signing_worker (
  chain_id integer PRIMARY KEY,
  worker uuid NOT NULL,
  until timestamptz NOT NULL
);

-- Without a policy nobody but the owner reads or writes them, whatever rights the HTTP process is given on all tables.
ALTER TABLE service.signature_wait ENABLE ROW LEVEL SECURITY;
ALTER TABLE service.signing_worker ENABLE ROW LEVEL SECURITY;

-- What each worker knows of what signs for it. The HTTP process shows it.
CREATE TABLE service.signer_state (
  worker uuid PRIMARY KEY,
  kind text NOT NULL,
  trouble text,
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE FUNCTION service.ask_signature(wanted uuid) RETURNS void
  LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
  INSERT INTO service.signature_wait (intent_id, chain_id)
  SELECT n.id, n.chain_id FROM service.intent i JOIN service.intent n ON n.root_id = i.root_id
  WHERE i.id = wanted ORDER BY n.retry_number DESC LIMIT 1
  ON CONFLICT (intent_id) DO UPDATE SET asked_at = pg_catalog.clock_timestamp(), reason = NULL;
  SELECT pg_catalog.pg_notify('mintyard_work', '')
$$;

-- How far each request is on its way to a signature, in its newest retry. One statement for all who wait, of any account:
-- who has an id may know this of it.
CREATE FUNCTION service.signing_of(wanted uuid[])
  RETURNS TABLE (id uuid, state text, lead_state text, version integer, expires_at timestamptz, asked_seconds float8,
    hold_reason text, hold_detail text, reason text)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = '' AS $$
  SELECT i.id, n.state, l.state, n.version, n.expires_at,
    extract(epoch FROM pg_catalog.clock_timestamp() - greatest(n.created_at, w.asked_at))::float8,
    n.hold_reason, n.hold_detail, w.reason
  FROM pg_catalog.unnest(wanted) AS given (id)
  JOIN service.intent i ON i.id = given.id
  CROSS JOIN LATERAL (SELECT r.* FROM service.intent r WHERE r.root_id = i.root_id ORDER BY r.retry_number DESC LIMIT 1) n
  LEFT JOIN service.intent l ON l.id = n.batch_lead AND n.state = 'batched'
  LEFT JOIN service.signature_wait w ON w.intent_id = n.id
$$;
