-- Requests of the last day, for the account that made them. Nothing of this is needed by anything else: unlogged, it costs no
-- write-ahead log, is empty after a crash or a failover, and cannot be read on a standby. No reference to the account or the key:
-- one row that fails must not lose the others that are written with it.
CREATE UNLOGGED TABLE service.request_log (
  account_id uuid NOT NULL,
  -- When it was answered, in milliseconds: what cursors carry.
  at timestamptz(3) NOT NULL,
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  key_id text NOT NULL,
  method text NOT NULL,
  route text NOT NULL,
  path text NOT NULL,
  -- Of GraphQL: kind and name of the operation, and its root fields.
  operation text,
  fields text,
  status integer NOT NULL,
  code text,
  ms integer NOT NULL,
  request_id text NOT NULL,
  -- Requests of the account until then that are not in the log.
  skipped integer NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, at, id)
);
-- For what clears away.
CREATE INDEX request_log_at ON service.request_log (at);
ALTER TABLE service.request_log ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON service.request_log FOR SELECT USING (account_id = (SELECT service.tenant()));

-- Adds the requests of many accounts at once. Definer's rights, as `count_usage`: the role of the HTTP process writes no other
-- tenant's rows, and no row of this table by itself.
CREATE FUNCTION service.log_requests(accounts uuid[], ended float8[], keys text[], methods text[], routes text[], paths text[],
  operations text[], root_fields text[], statuses integer[], codes text[], durations integer[], ids text[], skips integer[])
  RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
  INSERT INTO service.request_log (account_id, at, key_id, method, route, path, operation, fields, status, code, ms, request_id, skipped)
  SELECT r.account_id, pg_catalog.to_timestamp(r.ended / 1000), r.key_id, r.method, r.route, r.path, r.operation, r.fields,
    r.status, r.code, r.ms, r.request_id, r.skipped
  FROM unnest(accounts, ended, keys, methods, routes, paths, operations, root_fields, statuses, codes, durations, ids, skips)
    AS r (account_id, ended, key_id, method, route, path, operation, fields, status, code, ms, request_id, skipped)
$$;
