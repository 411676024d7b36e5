import { userInfo } from "node:os";
import { parseArgs } from "node:util";
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
import { loadConfig } from "../src/config.ts";
import { migrate } from "../src/db/migrate.ts";
import { createDatabase, createPool } from "../src/db/pool.ts";
import type { ChargeState, Scope, Tier } from "../src/db/tables/accounts.ts";

const tiers: readonly Tier[] = ["free", "growth", "scale", "enterprise"];
const states: readonly ChargeState[] = ["open", "settled", "void", "refund_due", "refunded"];

/** `mintyard accounts …` */
export async function runAccounts(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      tier: { type: "string", default: "free" },
      name: { type: "string", default: "unnamed" },
      email: { type: "string" },
    },
  });
  const [verb, id = "", tier] = positionals;
  return await asOperator(async (services, actor) => {
    switch (verb) {
      case "create": {
        const wanted = oneOf(tiers, values.tier, "--tier");
        const made = await openAccount(services, actor, {
          name: values.name,
          tier: wanted,
          email: values.email ?? null,
        });
        return [{ ...made, key: made.legacyKey, secret: made.key }];
      }
      case "list":
        return await listAccounts(services);
      case "tier":
        await changeAccount(services, actor, id, { tier: oneOf(tiers, tier, "the tier") });
        return [{ id, tier }];
      case "suspend":
      case "resume":
        await changeAccount(services, actor, id, { suspended: verb === "suspend" });
        return [{ id, suspended: verb === "suspend" }];
    }
    throw new Error("accounts create, list, tier, suspend or resume");
  });
}

/** `mintyard keys …` */
export async function runKeys(args: string[]): Promise<number> {
  if (args[0] === "create") return await runAccounts(args);
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      name: { type: "string", default: "unnamed" },
      scopes: { type: "string", default: allScopes.join(",") },
      "uuid-only": { type: "boolean", default: false },
    },
  });
  const [verb, id = ""] = positionals;
  return await asOperator(async (services, actor) => {
    switch (verb) {
      case "add": {
        const scopes = values.scopes.split(",").map((item): Scope => oneOf(allScopes, item, "--scopes"));
        return [await addAccountKey(services, actor, { accountId: id, name: values.name, scopes })];
      }
      case "list":
        return await listAccountKeys(services, id);
      case "revoke":
        await endKey(services, actor, id, values["uuid-only"] ? "uuid" : "all");
        return [{ id, revoked: values["uuid-only"] ? "uuid" : "all" }];
    }
    throw new Error("keys create, add, list or revoke");
  });
}

/** `mintyard charges …` */
export async function runCharges(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { state: { type: "string" }, note: { type: "string" } },
  });
  const [verb = "", id = ""] = positionals;
  return await asOperator(async (services, actor) => {
    if (verb === "list")
      return await listAllCharges(services, values.state ? oneOf(states, values.state, "--state") : null);
    if (!Object.hasOwn(chargeMoves, verb)) throw new Error("charges list, settle, void or refund");
    const move = verb as keyof typeof chargeMoves;
    await moveCharge(services, actor, id, move, values.note ?? null);
    return [{ id, state: chargeMoves[move].to }];
  });
}

/** `mintyard audit verify`: exits 1 when the log is not what was written. */
export async function runAudit(args: string[]): Promise<number> {
  if (args[0] !== "verify") throw new Error("audit verify");
  let broken = false;
  await asOperator(async ({ db }) => {
    const result = await verifyAudit(db);
    broken = result.brokenAt !== null;
    return [result];
  });
  return broken ? 1 : 0;
}

/** Runs a command over its own connection and prints each row of its answer as one line of JSON. */
async function asOperator(
  run: (services: OperatorServices, actor: string) => Promise<readonly unknown[]>,
): Promise<number> {
  const config = loadConfig();
  await migrate(config.databaseUrl);
  const pool = createPool(config.databaseUrl, "operator", 1);
  try {
    const rows = await run({ db: createDatabase(pool), config }, `operator:${userInfo().username}`);
    for (const row of rows) process.stdout.write(`${JSON.stringify(row, bigintAsNumber)}\n`);
  } finally {
    await pool.end();
  }
  return 0;
}

function bigintAsNumber(_name: string, value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}

function oneOf<T extends string>(words: readonly T[], text: string | undefined, what: string): T {
  const word = words.find((candidate) => candidate === text);
  if (word) return word;
  throw new Error(`${what}: one of ${words.join(", ")} is wanted`);
}
