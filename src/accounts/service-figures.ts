import { sql } from "kysely";
import type { Services } from "../services.ts";

/** What `service.figures()` gives, and whether policies bind this process. */
export interface ServiceFigures {
  /** Age of the oldest item that waits; none waits where there is no entry. `chain_id` is null for pins. */
  queues: { queue: "deployment" | "update" | "metadata" | "pin"; chain_id: number | null; seconds: number }[];
  /** Bytes of uploads and presale lists, by tier of their accounts. */
  stored: Record<string, number>;
  databaseBytes: number;
  standbys: number;
  /** A commit waits for a standby. */
  synchronous: boolean;
  /** Bytes that a standby has not applied, by its application_name; none where the login may not know. */
  lags: Record<string, number>;
  /** Since the moment that the last backup shows; without one, since the database was made. */
  backupSeconds: number;
  backedUp: boolean;
  /** Relations with policies that show this process the rows of every account. */
  unbound: string[];
}

/**
 * Reads them by one statement, under the role of this process.
 *
 * @returns null while the database does not answer.
 */
export async function readFigures({ db }: Pick<Services, "db">): Promise<ServiceFigures | null> {
  const asked = sql<{ figures: Omit<ServiceFigures, "unbound">; unbound: string[] }>`
    SELECT service.figures() AS figures, service.unbound_relations() AS unbound`.execute(db);
  return await asked.then(
    ({ rows: [row] }) => (row ? { ...row.figures, unbound: row.unbound } : null),
    () => null,
  );
}
