-- An endpoint that has not answered yet may be a slow one: until it has, it holds no place of those that are known to be quick.
ALTER TABLE service.webhook ADD COLUMN proven boolean NOT NULL DEFAULT true;
ALTER TABLE service.webhook ALTER COLUMN proven SET DEFAULT false;
