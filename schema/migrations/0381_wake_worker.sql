-- The worker looks less and less often while nothing happens, and at once when it is told of work.
CREATE FUNCTION service.wake_worker() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  PERFORM pg_catalog.pg_notify('mintyard_work', '');
  RETURN NULL;
END $$;
-- Not of its later states: while it has one that is not the end, the worker looks as often as ever.
CREATE TRIGGER intent_wake AFTER INSERT ON service.intent
  FOR EACH STATEMENT EXECUTE FUNCTION service.wake_worker();
-- From the first endpoint on the worker listens to events.
CREATE TRIGGER webhook_wake AFTER INSERT OR UPDATE OF state ON service.webhook
  FOR EACH STATEMENT EXECUTE FUNCTION service.wake_worker();
CREATE TRIGGER metadata_demand_wake AFTER INSERT ON service.metadata_demand
  FOR EACH STATEMENT EXECUTE FUNCTION service.wake_worker();
-- Of tokens only those that somebody waits for: all others are found by the worker itself.
CREATE TRIGGER token_metadata_wake AFTER INSERT OR UPDATE OF priority ON service.token_metadata
  FOR EACH ROW WHEN (NEW.priority = 0 AND NEW.status = 'pending') EXECUTE FUNCTION service.wake_worker();
CREATE TRIGGER contract_metadata_wake AFTER UPDATE OF refresh_requested_at ON service.contract_metadata
  FOR EACH ROW WHEN (NEW.refresh_requested_at IS DISTINCT FROM OLD.refresh_requested_at)
  EXECUTE FUNCTION service.wake_worker();
CREATE TRIGGER self_deployment_wake AFTER INSERT OR UPDATE OF reported_tx ON service.self_deployment
  FOR EACH STATEMENT EXECUTE FUNCTION service.wake_worker();
-- None where no pinning service is configured: a notification makes commits wait for one another.
CREATE TRIGGER upload_wake AFTER INSERT ON service.upload
  FOR EACH ROW WHEN (NEW.pin_state = 'queued') EXECUTE FUNCTION service.wake_worker();

-- A listener calls it to learn whether notifications arrive: behind a pooler they may not.
CREATE FUNCTION service.prove_listening() RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
  SELECT pg_catalog.pg_notify('mintyard_proof', '')
$$;
