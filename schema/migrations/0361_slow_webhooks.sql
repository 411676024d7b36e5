-- An endpoint that answers slowly is sent to beside those that fail: it must not hold the places of those that answer at once.
ALTER TABLE service.webhook ADD COLUMN slow boolean NOT NULL DEFAULT false;
