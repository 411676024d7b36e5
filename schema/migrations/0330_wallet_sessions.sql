-- Signing in with a wallet. A session is a key of its account whose one spelling is a browser's cookie, so that scopes,
-- rates, expiry, revocation and the audit log hold for it as for every other key.
ALTER TABLE service.key_secret DROP CONSTRAINT key_secret_kind_check;
ALTER TABLE service.key_secret ADD CONSTRAINT key_secret_kind_check CHECK (kind IN ('uuid', 'secret', 'session'));
-- The wallet that signed in; null: a key, no session.
ALTER TABLE service.api_key ADD COLUMN wallet bytea CHECK (octet_length(wallet) = 20);

-- Whose account a wallet opens. chain_id is 0 for a wallet that signs by its own private key, which is the same on
-- every chain. A contract wallet of one chain says nothing about its address on another: somebody else may own it there.
CREATE TABLE service.wallet_login (
  address bytea NOT NULL CHECK (octet_length(address) = 20),
  chain_id integer NOT NULL CHECK (chain_id >= 0),
  account_id uuid NOT NULL REFERENCES service.account (id),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (address, chain_id)
);
CREATE INDEX wallet_login_account ON service.wallet_login (account_id);
ALTER TABLE service.wallet_login ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON service.wallet_login
  USING (account_id = (SELECT service.tenant())) WITH CHECK (account_id = (SELECT service.tenant()));

-- Definer's rights, as `session_of`: who signs in has no account yet, and sees no tenant's rows.
CREATE FUNCTION service.account_of_wallet(wallet bytea, chain integer) RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = '' AS $$
  SELECT account_id FROM service.wallet_login WHERE address = wallet AND chain_id = chain
$$;

-- Texts to be signed, by digest, each for the browser that asked for it. Unlogged: a crash costs a second click.
CREATE UNLOGGED TABLE service.sign_in_nonce (
  digest bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
  browser bytea NOT NULL CHECK (octet_length(browser) = 32),
  expires_at timestamptz NOT NULL
);
CREATE INDEX sign_in_nonce_expiry ON service.sign_in_nonce (expires_at);
