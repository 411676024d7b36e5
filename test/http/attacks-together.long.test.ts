import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runAttacks } from "../../bench/attacks/run-attacks.ts";

// The bench measures; this holds what is true on any machine.
test("beside dear reads, alias floods and new documents, hot reads and /livez are answered", async () => {
  const dir = await mkdtemp(join(tmpdir(), "mintyard-attacks-"));
  try {
    const phases = await runAttacks({ dir, tokens: 30_000, seconds: 8, apart: [] }, () => undefined);
    const attacked = phases.find(({ name }) => name === "all together");
    expect(attacked?.livez.count).toBeGreaterThan(0);
    expect(attacked?.livez.failed).toBe(0);
    expect(attacked?.livez.most).toBeLessThan(5_000);
    expect(attacked?.honest.failed).toBeLessThan((attacked?.honest.count ?? 0) / 20);
    for (const { heavy } of phases) expect(heavy).toBeLessThanOrEqual(2);
    const { traits = {}, documents = {} } = attacked?.outcomes ?? {};
    // More than eight conditions are refused, and so are documents that would cost much to validate.
    expect(Object.keys(traits).some((outcome) => outcome.endsWith("value_error"))).toBe(true);
    expect(documents["200 GRAPHQL_VALIDATION_FAILED"]).toBeGreaterThan(0);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
