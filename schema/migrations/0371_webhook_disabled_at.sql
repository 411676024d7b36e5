-- Events of the time from here until it goes on were not made deliveries; a replay sends what is kept of them.
ALTER TABLE service.webhook ADD COLUMN disabled_at timestamptz;
