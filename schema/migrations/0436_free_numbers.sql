-- An upload counts for what it makes this service keep: its bytes, or a kibibyte for each row of its blocks and entries, where
-- that is more. Before, a directory of thousands of files of one byte counted as some thousand bytes, and took megabytes of
-- the database. Uploads of before count as they did.
ALTER TABLE service.upload ADD COLUMN counted bigint CHECK (counted >= 0);

CREATE OR REPLACE FUNCTION service.count_storage() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  most bigint;
  used bigint;
BEGIN
  INSERT INTO service.account_storage AS s (account_id, bytes) VALUES (NEW.account_id, 0)
    ON CONFLICT (account_id) DO UPDATE SET bytes = s.bytes;
  IF EXISTS (SELECT FROM service.upload u
             WHERE u.cid = NEW.cid AND u.account_id = NEW.account_id AND u.id <> NEW.id) THEN
    RETURN NULL;
  END IF;
  -- A process of an older version counts bytes.
  UPDATE service.account_storage s SET bytes = s.bytes + greatest(NEW.size, coalesce(NEW.counted, 0))
    WHERE s.account_id = NEW.account_id
    RETURNING s.bytes INTO used;
  SELECT p.storage_bytes INTO most
    FROM service.account a JOIN service.plan p ON p.tier = a.tier WHERE a.id = NEW.account_id;
  IF used > most THEN
    RAISE EXCEPTION 'your plan keeps % bytes, and this upload would make it %', most, used USING ERRCODE = 'MY001';
  END IF;
  RETURN NULL;
END $$;
-- A free account has twenty transactions a day, and 300 requests that may spend, refused ones and dry runs included: each is up to
-- eleven calls of a node, and 500 of them every day were a euro a month. An operator who has set another number keeps it.
UPDATE service.plan SET deploy_requests_per_day = 300 WHERE tier = 'free' AND deploy_requests_per_day = 500;
