// A process that performs plays with the relay of its own tree, one at a time: see play-process.ts.
import { createDatabase, createPool } from "../../src/db/pool/pool.ts";
import { plays } from "./defect-plays.ts";
import type { PlayAnswer, PlayOrder } from "./play-process.ts";
import { Stage } from "./stage.ts";

async function perform({ play, defective, nodes, databaseUrl, timeoutMs }: PlayOrder): Promise<string[]> {
  const chosen = plays[play];
  if (!chosen) throw new Error(`there is no play ${play}`);
  const { act, defectFactory, ...options } = chosen;
  const factory = (defective ? defectFactory : undefined) ?? options.factory;
  const pool = createPool(databaseUrl, "test");
  const database = { url: databaseUrl, pool, db: createDatabase(pool), drop: () => pool.end() };
  const stage = await Stage.set(nodes, { ...options, ...(factory ? { factory } : {}) }, database);
  try {
    await act(stage);
    return await stage.finish(timeoutMs);
  } finally {
    await stage.strike();
  }
}

process.once("disconnect", () => process.exit());
process.on("message", (order: PlayOrder) => {
  const answer = (answer: PlayAnswer) => process.send?.(answer);
  perform(order).then(
    (findings) => answer({ findings }),
    (error: unknown) => answer({ failure: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
});
