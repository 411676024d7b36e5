-- What the members of a batch have set aside becomes their lead's, by two statements for all of them where their hours and days
-- are the same; before, by two for each limit of each.
CREATE OR REPLACE FUNCTION service.join_entries(lead uuid, members uuid[]) RETURNS void LANGUAGE plpgsql SET search_path = '' AS $$
DECLARE
  entry service.budget_entry;
  own service.budget_entry;
BEGIN
  -- Amounts that change their hour or day: in the order in which everybody takes the rows of limits.
  PERFORM FROM service.budget b WHERE (b.scope, b.period) IN (
    SELECT e.scope, e.period FROM service.budget_entry e
    WHERE e.intent_id = ANY (array_append(members, lead)) AND NOT e.settled AND EXISTS (
      SELECT FROM service.budget_entry o WHERE o.intent_id = ANY (array_append(members, lead)) AND NOT o.settled
        AND o.scope = e.scope AND o.period <> e.period))
    ORDER BY b.scope, b.period FOR UPDATE;
  IF NOT FOUND AND NOT EXISTS (SELECT FROM service.budget_entry e WHERE e.intent_id = lead AND e.settled) THEN
    PERFORM FROM service.budget_entry e WHERE e.intent_id = ANY (members) AND NOT e.settled
      ORDER BY e.scope, e.period, e.intent_id FOR UPDATE;
    INSERT INTO service.budget_entry AS e (intent_id, scope, period, amount)
      SELECT lead, m.scope, m.period, sum(m.amount) FROM service.budget_entry m
      WHERE m.intent_id = ANY (members) AND NOT m.settled GROUP BY m.scope, m.period
      ON CONFLICT (intent_id, scope) DO UPDATE SET amount = e.amount + excluded.amount;
    UPDATE service.budget_entry e SET settled = true, spent = 0, amount = 0
      WHERE e.intent_id = ANY (members) AND NOT e.settled;
    RETURN;
  END IF;
  FOR entry IN
    SELECT * FROM service.budget_entry e WHERE e.intent_id = ANY (members) AND NOT e.settled
    ORDER BY e.scope, e.period, e.intent_id FOR UPDATE
  LOOP
    INSERT INTO service.budget_entry AS e (intent_id, scope, period, amount)
      VALUES (lead, entry.scope, entry.period, entry.amount)
      ON CONFLICT (intent_id, scope) DO UPDATE SET amount = e.amount + excluded.amount RETURNING * INTO own;
    IF own.period <> entry.period THEN
      UPDATE service.budget b SET reserved = b.reserved - entry.amount
        WHERE b.scope = entry.scope AND b.period = entry.period;
      UPDATE service.budget b SET reserved = b.reserved + entry.amount,
        allowed = greatest(b.allowed, b.reserved + entry.amount + b.spent)
        WHERE b.scope = own.scope AND b.period = own.period;
    END IF;
    UPDATE service.budget_entry e SET settled = true, spent = 0, amount = 0
      WHERE e.intent_id = entry.intent_id AND e.scope = entry.scope;
  END LOOP;
END $$;
