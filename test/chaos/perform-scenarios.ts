// A process that performs scenarios with the relay of its own tree, one at a time: see scenario-process.ts.
import { flushCompileCache } from "node:module";
import { createDatabase, createPool } from "../../src/db/pool/pool.ts";
import { scenarios } from "./defect-scenarios.ts";
import { RelayFixture } from "./relay-fixture.ts";
import type { ScenarioAnswer, ScenarioOrder } from "./scenario-process.ts";

async function perform({ scenario, defective, nodes, databaseUrl, timeoutMs }: ScenarioOrder): Promise<string[]> {
  const chosen = scenarios[scenario];
  if (!chosen) throw new Error(`there is no scenario ${scenario}`);
  const { act, defectFactory, ...options } = chosen;
  const factory = (defective ? defectFactory : undefined) ?? options.factory;
  const pool = createPool(databaseUrl, "test");
  const database = { url: databaseUrl, pool, db: createDatabase(pool), drop: () => pool.end() };
  const fixture = await RelayFixture.setUp(nodes, { ...options, ...(factory ? { factory } : {}) }, database);
  try {
    await act(fixture);
    return await fixture.finish(timeoutMs);
  } finally {
    await fixture.tearDown();
  }
}

// It is ended by a signal, which leaves no time for it: the next process of the tree would compile everything again.
flushCompileCache();
process.once("disconnect", () => process.exit());
process.on("message", (order: ScenarioOrder) => {
  const answer = (answer: ScenarioAnswer) => process.send?.(answer);
  perform(order).then(
    (findings) => answer({ findings }),
    (error: unknown) => answer({ failure: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
});
