import { sql } from "kysely";
import { type AuditEntry, writeAudit } from "../auth/audit.ts";
import { newSpellings } from "../auth/key-format.ts";
import { createAccount, insertKey } from "../auth/keys.ts";
import type { ChargeState, Scope, Tier } from "../db/tables/accounts.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";

/** The services that operator commands need; they run without the rest of the service. */
export type OperatorServices = Pick<Services, "db" | "config">;

/** Creates an account of any tier with its first key. */
export async function openAccount(
  { db, config }: OperatorServices,
  actor: string,
  input: { name: string; tier: Tier; email: string | null },
) {
  const { secret, uuid } = newSpellings();
  const accountId = await createAccount(db, config.keyPepper, { ...input, key: uuid, secret }, (transaction, id) =>
    writeAudit(transaction, { actor, action: "create", object: `account:${id}`, after: { tier: input.tier } }),
  );
  return { accountId, key: secret, legacyKey: uuid, tier: input.tier, name: input.name };
}

export async function listAccounts({ db }: OperatorServices) {
  return await db
    .selectFrom("service.account as a")
    .select(["a.id", "a.name", "a.email", "a.tier", "a.suspended", "a.created_at"])
    .select((query) =>
      query
        .selectFrom("service.api_key as k")
        .select(({ fn }) => fn.countAll<bigint>().as("count"))
        .whereRef("k.account_id", "=", "a.id")
        .where("k.revoked_at", "is", null)
        .as("keys"),
    )
    .orderBy("a.created_at")
    .execute();
}

/** Changes an account's tier, suspends or reinstates it; in force everywhere within a second. */
export async function changeAccount(
  { db }: OperatorServices,
  actor: string,
  id: string,
  change: { tier: Tier } | { suspended: boolean },
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const before = await transaction
      .selectFrom("service.account")
      .select(["tier", "suspended"])
      .where("id", "=", id)
      .forUpdate()
      .executeTakeFirst();
    if (!before) throw missing("account", id);
    await transaction.updateTable("service.account").set(change).where("id", "=", id).execute();
    const entry: AuditEntry = { actor, action: "change", object: `account:${id}`, before, after: change };
    await writeAudit(transaction, entry);
  });
}

export async function addAccountKey(
  { db, config }: OperatorServices,
  actor: string,
  input: { accountId: string; name: string; scopes: readonly Scope[] },
) {
  const { secret, uuid } = newSpellings();
  const id = await db.transaction().execute(async (transaction) => {
    const made = await insertKey(transaction, config.keyPepper, { ...input, spellings: { secret, uuid } });
    const after = { scopes: input.scopes };
    await writeAudit(transaction, { actor, action: "create", object: `key:${made}`, after });
    return made;
  });
  return { id, key: secret, legacyKey: uuid };
}

export async function listAccountKeys({ db }: OperatorServices, accountId: string) {
  return await db
    .selectFrom("service.api_key")
    .select(["id", "name", "scopes", "created_at", "expires_at", "revoked_at", "last_used_at"])
    .where("account_id", "=", accountId)
    .orderBy("created_at")
    .execute();
}

/** Revokes a key, or with `spelling` only its UUID, which legacy clients send. */
export async function endKey(
  { db }: OperatorServices,
  actor: string,
  id: string,
  spelling: "all" | "uuid",
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const revoked_at = sql<Date>`coalesce(revoked_at, clock_timestamp())`;
    const { numUpdatedRows } =
      spelling === "all"
        ? await transaction.updateTable("service.api_key").set({ revoked_at }).where("id", "=", id).executeTakeFirst()
        : await transaction
            .updateTable("service.key_secret")
            .set({ revoked_at })
            .where("key_id", "=", id)
            .where("kind", "=", "uuid")
            .executeTakeFirst();
    if (numUpdatedRows === 0n) throw missing("key", id);
    await writeAudit(transaction, { actor, action: "revoke", object: `key:${id}`, after: { spelling } });
  });
}

export async function listAllCharges({ db }: OperatorServices, state: ChargeState | null) {
  return await db
    .selectFrom("service.charge")
    .selectAll()
    .$if(state !== null, (query) => query.where("state", "=", state ?? "open"))
    .orderBy("created_at")
    .execute();
}

/** The state changes that an operator may make to a charge. */
export const chargeMoves = {
  settle: { from: "open", to: "settled" },
  void: { from: "open", to: "void" },
  refund: { from: "refund_due", to: "refunded" },
} as const satisfies Record<string, { from: ChargeState; to: ChargeState }>;

export async function moveCharge(
  { db }: OperatorServices,
  actor: string,
  id: string,
  move: keyof typeof chargeMoves,
  note: string | null,
): Promise<void> {
  const { from, to } = chargeMoves[move];
  await db.transaction().execute(async (transaction) => {
    const { numUpdatedRows } = await transaction
      .updateTable("service.charge")
      .set({ state: to, note })
      .where("id", "=", id)
      .where("state", "=", from)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) throw missing(`${from} charge`, id);
    await writeAudit(transaction, {
      actor,
      action: move,
      object: `charge:${id}`,
      before: { state: from },
      after: { state: to },
    });
  });
}

function missing(what: string, id: string): ServiceError {
  return new ServiceError("not_found", `there is no ${what} ${id}`);
}
