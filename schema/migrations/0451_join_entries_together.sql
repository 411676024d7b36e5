-- What the members of a batch have set aside becomes their lead's, by two statements for all of them where their hours and days
-- are the same; before, by two for each limit of each.
ALTER FUNCTION service.join_entries(uuid, uuid[]) RENAME TO join_entries_of_periods;

CREATE FUNCTION service.join_entries(lead uuid, members uuid[]) RETURNS void LANGUAGE plpgsql SET search_path = '' AS $$
BEGIN
  PERFORM FROM service.budget_entry e WHERE e.intent_id = ANY (members) AND NOT e.settled
    ORDER BY e.scope, e.period, e.intent_id FOR UPDATE;
  IF EXISTS (
    SELECT FROM service.budget_entry e WHERE e.intent_id = ANY (array_append(members, lead)) AND (NOT e.settled OR e.intent_id = lead)
    GROUP BY e.scope HAVING min(e.period) <> max(e.period) OR bool_or(e.settled)) THEN
    PERFORM service.join_entries_of_periods(lead, members);
    RETURN;
  END IF;
  INSERT INTO service.budget_entry AS e (intent_id, scope, period, amount)
    SELECT lead, m.scope, m.period, sum(m.amount) FROM service.budget_entry m
    WHERE m.intent_id = ANY (members) AND NOT m.settled GROUP BY m.scope, m.period
    ON CONFLICT (intent_id, scope) DO UPDATE SET amount = e.amount + excluded.amount;
  UPDATE service.budget_entry e SET settled = true, spent = 0, amount = 0
    WHERE e.intent_id = ANY (members) AND NOT e.settled;
END $$;
