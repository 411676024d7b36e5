-- What a contract asks of a sale, in hundredths of a percent (ERC-2981); null: it tells none.
ALTER TABLE service.contract_metadata ADD COLUMN royalty_bps integer CHECK (royalty_bps BETWEEN 0 AND 10000);

-- Contracts that were read before are read again, spread over a day.
UPDATE service.contract_metadata SET next_attempt_at = clock_timestamp() + random() * interval '1 day'
  WHERE next_attempt_at IS NULL;
