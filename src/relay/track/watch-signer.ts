import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { SignerTrouble } from "../../signing/trouble.ts";
import type { RelayContext } from "../chain/context.ts";

/** What one worker has written down of what signs for it. */
export interface SignerMemory {
  readonly worker: string;
  trouble: SignerTrouble | null;
  /** By this process's clock. */
  recordedAt: number;
}

/** Readers take a row that is older than a minute for none. */
const recordAgainMs = 20_000;

export function createSignerMemory(): SignerMemory {
  return { worker: randomUUID(), trouble: null, recordedAt: Number.NEGATIVE_INFINITY };
}

/** Records whether what signs for this worker does, for processes that have no way to it. */
export async function watchSigner({ db, relay }: RelayContext, memory: SignerMemory): Promise<void> {
  const { kind } = relay.signing;
  const trouble = await relay.signing.check();
  if (trouble === memory.trouble && performance.now() - memory.recordedAt < recordAgainMs) return;
  await sql`
    WITH gone AS (DELETE FROM service.signer_state WHERE seen_at < clock_timestamp() - interval '1 hour')
    INSERT INTO service.signer_state (worker, kind, trouble) VALUES (${memory.worker}, ${kind}, ${trouble})
    ON CONFLICT (worker) DO UPDATE SET trouble = excluded.trouble, seen_at = clock_timestamp()`.execute(db);
  memory.trouble = trouble;
  memory.recordedAt = performance.now();
}
