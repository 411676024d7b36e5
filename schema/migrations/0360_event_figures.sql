-- How webhooks are doing, of all accounts together. Definer's rights, as service.figures() has: sums, and nobody's rows.
CREATE FUNCTION service.event_figures() RETURNS json LANGUAGE sql STABLE SECURITY DEFINER SET search_path = '' AS $$
  SELECT pg_catalog.json_build_object(
    'webhooks', (SELECT coalesce(pg_catalog.json_object_agg(s.state, s.count), '{}') FROM (
      SELECT CASE WHEN w.state = 'enabled' AND w.failing_since IS NOT NULL THEN 'failing' ELSE w.state END AS state, count(*) AS count
      FROM service.webhook w GROUP BY 1) s),
    -- Of endpoints that answer. One that does not waits for its next try, and that is in order.
    'dueSeconds', (SELECT pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - min(w.next_due)) FROM service.webhook w
      WHERE w.state = 'enabled' AND w.next_due < pg_catalog.clock_timestamp() AND w.failing_since IS NULL),
    -- Without an endpoint nothing waits for one, whatever the head says until the worker moves it.
    'unmatchedSeconds', (SELECT pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() - e.at)
      FROM service.webhook_head h CROSS JOIN LATERAL (
        SELECT e.at FROM service.event e WHERE e.sequence > h.sequence ORDER BY e.sequence LIMIT 1) e
      WHERE EXISTS (SELECT FROM service.webhook)))
$$;
