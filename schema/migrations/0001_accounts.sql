-- Accounts and the digests of their keys. A key has two spellings of one record: a prefixed secret
-- and a UUID that clients of the original service can send.
CREATE TABLE service.account (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  name text NOT NULL,
  email text,
  tier text NOT NULL CHECK (tier IN ('free', 'growth', 'scale', 'enterprise')),
  suspended boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE service.key_secret (
  digest bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
  account_id uuid NOT NULL REFERENCES service.account (id),
  kind text NOT NULL CHECK (kind IN ('uuid', 'secret')),
  revoked_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX key_secret_account ON service.key_secret (account_id);
