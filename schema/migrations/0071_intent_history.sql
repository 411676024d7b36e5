-- What became of each intent, for people: every state it came to and why it waited. No decision reads it.
ALTER TABLE service.intent ADD hold_detail text;

CREATE TABLE service.intent_history (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  intent_id uuid NOT NULL REFERENCES service.intent (id),
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  state text NOT NULL,
  hold_reason text,
  detail text
);
CREATE INDEX intent_history_intent ON service.intent_history (intent_id, id);
-- Written by the trigger below alone; the process that serves many accounts does not read it.
DO $$
BEGIN
  REVOKE ALL ON service.intent_history FROM mintyard_api;
EXCEPTION WHEN undefined_object THEN NULL;
END $$;

CREATE FUNCTION service.record_intent() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  -- What is held is tried again every few seconds: only another reason is news.
  IF TG_OP = 'UPDATE' AND OLD.state = 'held' AND NEW.state = 'queued' THEN RETURN NULL; END IF;
  IF NEW.state IN ('held', 'queued') AND EXISTS (
    SELECT FROM (SELECT h.state, h.hold_reason, h.detail FROM service.intent_history h
      WHERE h.intent_id = NEW.id ORDER BY h.id DESC LIMIT 1) last
    WHERE (last.state, last.hold_reason, last.detail)
      IS NOT DISTINCT FROM (NEW.state, NEW.hold_reason, NEW.hold_detail)) THEN
    RETURN NULL;
  END IF;
  INSERT INTO service.intent_history (intent_id, state, hold_reason, detail)
    VALUES (NEW.id, NEW.state, NEW.hold_reason, NEW.hold_detail);
  RETURN NULL;
END $$;
CREATE TRIGGER intent_record_new AFTER INSERT ON service.intent FOR EACH ROW EXECUTE FUNCTION service.record_intent();
CREATE TRIGGER intent_record AFTER UPDATE ON service.intent FOR EACH ROW
  WHEN (OLD.state IS DISTINCT FROM NEW.state OR OLD.hold_reason IS DISTINCT FROM NEW.hold_reason
    OR OLD.hold_detail IS DISTINCT FROM NEW.hold_detail)
  EXECUTE FUNCTION service.record_intent();
