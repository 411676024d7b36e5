import { userInfo } from "node:os";
import type pg from "pg";
import {
  addAccountKey,
  changeAccount,
  chargeMoves,
  endKey,
  listAccountKeys,
  listAccounts,
  listAllCharges,
  moveCharge,
  type OperatorServices,
  openAccount,
} from "../src/accounts/operator.ts";
import { verifyAudit } from "../src/auth/audit.ts";
import { allScopes } from "../src/auth/keys.ts";
import { loadConfig, requireOwnPepper } from "../src/config/config.ts";
import { migrate } from "../src/db/admin/migrate.ts";
import { createDatabase, createPool } from "../src/db/pool/pool.ts";
import type { ChargeState, Scope, Tier } from "../src/db/tables/accounts.ts";
import { UsageError } from "./command-line.ts";

/** Opens an account and prints its first key, which cannot be shown again. */
export async function createAccount(values: { name: string; tier: Tier; email?: string | undefined }): Promise<number> {
  return await asOperator(async (services, actor) => {
    requireOwnPepper(services.config);
    const made = await openAccount(services, actor, {
      name: values.name,
      tier: values.tier,
      email: values.email ?? null,
    });
    return [{ ...made, key: made.legacyKey, secret: made.key }];
  });
}

export async function printAccounts(): Promise<number> {
  return await asOperator(async (services) => await listAccounts(services));
}

export async function setTier(id: string, tier: Tier): Promise<number> {
  return await asOperator(async (services, actor) => {
    await changeAccount(services, actor, id, { tier });
    return [{ id, tier }];
  });
}

export async function setSuspended(id: string, suspended: boolean): Promise<number> {
  return await asOperator(async (services, actor) => {
    await changeAccount(services, actor, id, { suspended });
    return [{ id, suspended }];
  });
}

/** @param list comma-separated scopes; all of them if left out. */
export async function addKey(accountId: string, name: string, list: string | undefined): Promise<number> {
  const scopes = list?.split(",").map((item): Scope => oneOf(allScopes, item, "--scopes")) ?? [...allScopes];
  return await asOperator(async (services, actor) => {
    requireOwnPepper(services.config);
    return [await addAccountKey(services, actor, { accountId, name, scopes })];
  });
}

export async function printKeys(accountId: string): Promise<number> {
  return await asOperator(async (services) => await listAccountKeys(services, accountId));
}

export async function revokeKey(id: string, revoked: "uuid" | "all"): Promise<number> {
  return await asOperator(async (services, actor) => {
    await endKey(services, actor, id, revoked);
    return [{ id, revoked }];
  });
}

export async function printCharges(state: ChargeState | undefined): Promise<number> {
  return await asOperator(async (services) => await listAllCharges(services, state ?? null));
}

export async function changeCharge(
  id: string,
  move: keyof typeof chargeMoves,
  note: string | undefined,
): Promise<number> {
  return await asOperator(async (services, actor) => {
    await moveCharge(services, actor, id, move, note ?? null);
    return [{ id, state: chargeMoves[move].to }];
  });
}

/** @returns 1 when the log was altered. */
export async function checkAudit(): Promise<number> {
  let broken = false;
  await asOperator(async ({ db }) => {
    const result = await verifyAudit(db);
    broken = result.brokenAt !== null;
    return [result];
  });
  return broken ? 1 : 0;
}

/** Runs a command on a connection of its own and prints each row of its result as one line of JSON. */
export async function asOperator(
  run: (services: OperatorServices & { pool: pg.Pool }, actor: string) => Promise<readonly unknown[]>,
): Promise<number> {
  const config = loadConfig();
  await migrate(config.databaseUrl);
  const pool = createPool(config.databaseUrl, "operator", 1);
  try {
    const rows = await run({ db: createDatabase(pool), pool, config }, `operator:${userInfo().username}`);
    for (const row of rows) process.stdout.write(`${JSON.stringify(row, bigintAsNumber)}\n`);
  } finally {
    await pool.end();
  }
  return 0;
}

function bigintAsNumber(_name: string, value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}

function oneOf<T extends string>(words: readonly T[], text: string, what: string): T {
  const word = words.find((candidate) => candidate === text);
  if (word) return word;
  throw new UsageError(`${what} is one of ${words.join(", ")}, not ${JSON.stringify(text)}`);
}
