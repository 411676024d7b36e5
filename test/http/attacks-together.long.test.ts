import { constants } from "node:os";
import { expect, test } from "vitest";
import { runAttacks } from "../../bench/attacks/run-attacks.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

// The bench measures; this holds what is true on any machine.
test("beside dear reads, alias floods and new documents, fast-path reads and /livez are answered", async () => {
  const dir = temporaryFolder();
  const phases = await runAttacks({ dir, tokens: 30_000, seconds: 8, alone: [], compared: false }, () => undefined);
  const attacked = phases.find(({ name }) => name === "all together");
  expect(attacked?.livez.count).toBeGreaterThan(0);
  expect(attacked?.livez.failed).toBe(0);
  expect(attacked?.livez.most).toBeLessThan(5_000);
  expect(attacked?.honest.failed).toBeLessThan((attacked?.honest.count ?? 0) / 20);
  for (const { heavy } of phases) expect(heavy).toBeLessThanOrEqual(2);
  // The database's processes of such statements have the processor after everybody else.
  expect(attacked?.heavyNice.length).toBeGreaterThan(0);
  for (const nice of attacked?.heavyNice ?? []) expect(nice).toBe(constants.priority.PRIORITY_BELOW_NORMAL);
  const { traits = {}, documents = {}, status = {}, eligibility = {} } = attacked?.outcomes ?? {};
  const count = (seen: Record<string, number>) => Object.values(seen).reduce((sum, one) => sum + one, 0);
  // Of one address: 60 questions at once and 5 a second; a hundred more that nothing counts, and 25 a second. A phase
  // ends when the last answer has come.
  const seconds = 8 + 5;
  expect(count(status) + count(eligibility)).toBeLessThan(60 + 5 * seconds + 100 + 25 * seconds);
  // What its documents may take at once (500 ms), at half a millisecond each at first and one more from then on.
  expect(count(documents)).toBeLessThan(40 + (500 + 50 * seconds) / 1.5);
  // More than eight conditions are refused, and so are documents that would cost much to validate.
  expect(Object.keys(traits).some((outcome) => outcome.endsWith("value_error"))).toBe(true);
  expect(documents["200 GRAPHQL_VALIDATION_FAILED"]).toBeGreaterThan(0);
});
