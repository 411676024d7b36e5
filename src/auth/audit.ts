import { createHash } from "node:crypto";
import { type Kysely, sql } from "kysely";
import type { Database } from "../db/database.ts";

export interface AuditEntry {
  /** `key:<id>`, `account:<id>`, or `operator:<name>` for commands. */
  actor: string;
  requestId?: string | undefined;
  /** A verb: `create`, `revoke`, … */
  action: string;
  /** `<kind>:<id>`. */
  object: string;
  before?: unknown;
  after?: unknown;
}

/** Adds a row to the audit log. Use the transaction that makes the change, so that neither exists without the other. */
export async function writeAudit(db: Kysely<Database>, entry: AuditEntry): Promise<void> {
  const json = (value: unknown) => (value === undefined ? null : JSON.stringify(value));
  await db
    .insertInto("service.audit_log")
    .values({
      actor: entry.actor,
      request_id: entry.requestId ?? null,
      action: entry.action,
      object: entry.object,
      before: json(entry.before),
      after: json(entry.after),
    })
    .execute();
}

const zero = Buffer.alloc(32);
const batch = 1_000;

/**
 * Reads the whole log and recomputes its hash chain outside the database.
 *
 * @returns the number of valid rows, and the first invalid one: changed, removed or inserted later.
 */
export async function verifyAudit(
  db: Kysely<Database>,
): Promise<{ rows: number; head: string; brokenAt: string | null }> {
  let before = zero;
  let rows = 0;
  for (;;) {
    const found = await db
      .selectFrom("service.audit_log as a")
      .select(["a.seq", "a.prev_hash", "a.hash", sql<string>`service.audit_text(a)`.as("text")])
      .where("a.seq", ">", BigInt(rows) as never)
      .orderBy("a.seq")
      .limit(batch)
      .execute();
    for (const row of found) {
      const hash = createHash("sha256").update(before).update(row.text).digest();
      const right = row.seq === BigInt(rows + 1) && row.prev_hash.equals(before) && row.hash.equals(hash);
      if (!right) return { rows, head: before.toString("hex"), brokenAt: String(row.seq) };
      before = hash;
      rows += 1;
    }
    if (found.length < batch) return { rows, head: before.toString("hex"), brokenAt: null };
  }
}
