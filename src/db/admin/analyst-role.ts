import pg from "pg";
import {
  analystRole,
  analystSettings,
  analystSuperuserSettings,
  closures,
  settingStatements,
} from "../../../schema/analyst-role.ts";
import { withConnection } from "../connection.ts";

/** An arbitrary constant: processes that start at the same time take turns. */
const lockKey = 7_241_903_157;

/**
 * Creates the analysts' role and revokes what PUBLIC may do in this database, as far as the service's user may. Safe at
 * every start, from several processes and from several databases of one cluster, which share the role: only what is
 * missing is changed.
 *
 * @returns what is still open or missing, worded for an operator; empty when nothing is.
 */
export async function ensureAnalystRole(databaseUrl: string): Promise<string[]> {
  return await withConnection(databaseUrl, "analyst-role", async (client) => {
    await client.query("SELECT pg_advisory_lock($1)", [lockKey]);
    if (!(await roleExists(client, analystRole))) {
      await tryTo(client, [`CREATE ROLE ${analystRole} NOLOGIN`, ...settingStatements(analystRole, analystSettings)]);
      if (!(await roleExists(client, analystRole))) return [`role ${analystRole} does not exist`];
    }
    const gaps = [...(await applySettings(client, analystRole)), ...(await checkPowers(client))];
    for (const { what, open, close } of closures) {
      const isOpen = async () => {
        const { rows } = await client.query<{ open: boolean }>(`SELECT (${open}) AS open`, [analystRole]);
        return rows[0]?.open === true;
      };
      if (!(await isOpen())) continue;
      await tryTo(client, [close]);
      if (await isOpen()) gaps.push(`${what}: open to everybody`);
    }
    return gaps;
  });
}

export async function roleExists(client: pg.Client, role: string): Promise<boolean> {
  return (await client.query("SELECT FROM pg_roles WHERE rolname = $1", [role])).rowCount === 1;
}

/** @returns the settings that could not be applied, except those that only a superuser can apply. */
export async function applySettings(client: pg.Client, role: string): Promise<string[]> {
  const missing = async (settings: Readonly<Record<string, string>>) => {
    const { rows } = await client.query<{ setting: string }>(
      `SELECT unnest(s.setconfig) AS setting FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = s.setrole
       WHERE r.rolname = $1 AND s.setdatabase = 0`,
      [role],
    );
    const held = new Set(rows.map(({ setting }) => setting));
    return Object.fromEntries(Object.entries(settings).filter(([name, value]) => !held.has(`${name}=${value}`)));
  };
  const quoted = client.escapeIdentifier(role);
  for (const settings of [analystSettings, analystSuperuserSettings])
    await tryTo(client, settingStatements(quoted, await missing(settings)));
  return Object.keys(await missing(analystSettings)).map((name) => `role ${role}: ${name} is not set`);
}

/** Powers that somebody granted the role by hand, and other roles that it was made a member of. */
async function checkPowers(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ gap: string }>(
    `SELECT 'role ' || rolname || ' has an attribute that passes every wall' AS gap FROM pg_roles
     WHERE rolname = $1 AND (rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls)
     UNION ALL
     SELECT 'role ' || m.rolname || ' is a member of ' || g.rolname FROM pg_auth_members a
     JOIN pg_roles m ON m.oid = a.member JOIN pg_roles g ON g.oid = a.roleid WHERE m.rolname = $1`,
    [analystRole],
  );
  return rows.map(({ gap }) => gap);
}

/**
 * 42501: this login may not do it. 42710, 23505, XX000 ("tuple concurrently updated"): a process of another database is
 * doing the same right now. The caller checks the result.
 */
const expected = ["42501", "42710", "23505", "XX000"];

async function tryTo(client: pg.Client, statements: readonly string[]): Promise<void> {
  if (statements.length === 0) return;
  await client.query("BEGIN");
  try {
    for (const statement of statements) await client.query(statement);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK");
    if (!(error instanceof pg.DatabaseError) || !expected.includes(error.code ?? "")) throw error;
  }
}
