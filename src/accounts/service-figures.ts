import { sql } from "kysely";
import type { Services } from "../services.ts";

/** What `service.figures()` and `service.event_figures()` give, and whether policies bind this process. */
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
  events: {
    /** Endpoints by state; `failing` are those whose last try failed. */
    webhooks: Record<string, number>;
    /** How long what is due has waited, of endpoints that answer; null: nothing is due. */
    dueSeconds: number | null;
    /** Age of the oldest event that was not compared with endpoints yet. */
    unmatchedSeconds: number | null;
  };
  /** Relations with policies that show this process the rows of every account. */
  unbound: string[];
}

/**
 * Reads them by one statement, under the role of this process.
 *
 * @returns null while the database does not answer.
 */
export async function readFigures({ db }: Pick<Services, "db">): Promise<ServiceFigures | null> {
  const asked = sql<{
    figures: Omit<ServiceFigures, "unbound" | "events">;
    events: ServiceFigures["events"];
    unbound: string[];
  }>`
    SELECT service.figures() AS figures, service.event_figures() AS events, service.unbound_relations() AS unbound`.execute(
    db,
  );
  return await asked.then(
    ({ rows: [row] }) => (row ? { ...row.figures, events: row.events, unbound: row.unbound } : null),
    () => null,
  );
}
