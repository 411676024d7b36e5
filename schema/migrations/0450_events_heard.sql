-- A transaction that notifies holds one lock of the whole server until its commit is on disk, so such commits wait for one
-- another, and so do statements that wait for their rows. Each step of a request and each block has events: they are notified of
-- only while somebody listens. A listener holds this advisory lock shared, until it is left or its session ends. What is
-- written while a listener begins is found when it looks, which it does without notifications too.
CREATE FUNCTION service.hear_events(hears boolean) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  IF hears THEN
    PERFORM pg_catalog.pg_advisory_lock_shared(7241903161);
  ELSE
    PERFORM pg_catalog.pg_advisory_unlock_shared(7241903161);
  END IF;
END $$;

CREATE OR REPLACE FUNCTION service.wake_event_readers() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = '' AS $$
BEGIN
  -- To be had while nobody listens; of two that try at once one may notify in vain. One expression: a statement that is
  -- cancelled between two would leave the lock to its session.
  IF NOT (CASE WHEN pg_catalog.pg_try_advisory_lock(7241903161)
      THEN pg_catalog.pg_advisory_unlock(7241903161) ELSE false END) THEN
    PERFORM pg_catalog.pg_notify('mintyard_events', '');
  END IF;
  RETURN NULL;
END $$;
