import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import pg from "pg";
import { administratorSchema, analystNamePattern } from "../../../schema/analyst-admin.ts";
import { analystConnectionLimit, analystRole } from "../../../schema/analyst-role.ts";
import { withConnection } from "../connection.ts";
import { applySettings, roleExists } from "./analyst-role.ts";

const namePattern = new RegExp(analystNamePattern);
const insufficientPrivilege = "42501";

/**
 * Creates a login for one analyst, or gives an existing login a new password: directly where the service's user may
 * create roles, otherwise through the functions that an administrator created with `mintyard analyst sql`.
 *
 * @param name lower-case letters, digits and `_`; the role is `mintyard_analyst_<name>`.
 * @returns the connection string. The password can never be seen again.
 * @throws Error that says what an administrator has to run, when the service may do neither.
 */
export async function createAnalystLogin(databaseUrl: string, name: string): Promise<{ role: string; url: string }> {
  const role = loginRole(name);
  const password = randomBytes(24).toString("base64url");
  await withConnection(databaseUrl, "analyst", async (client) => {
    // The verifier, not the password: statements can end up in the server's log.
    const verifier = scramVerifier(password);
    if (await isLent(client, "create_analyst(text, text)"))
      await client.query(`SELECT ${administratorSchema}.create_analyst($1, $2)`, [name, verifier]);
    else await makeLogin(client, role, verifier).catch(askAdministrator(databaseUrl));
    await checkLogin(client, role);
  });
  const url = new URL(databaseUrl);
  url.username = role;
  url.password = password;
  return { role, url: url.href };
}

async function makeLogin(client: pg.Client, role: string, verifier: string): Promise<void> {
  const quoted = client.escapeIdentifier(role);
  await client.query("BEGIN");
  if (!(await roleExists(client, analystRole))) throw new MissingRight();
  if (!(await roleExists(client, role))) await client.query(`CREATE ROLE ${quoted}`);
  // No attribute is revoked here: a new role has none, and revoking attributes takes a superuser.
  await client.query(
    `ALTER ROLE ${quoted} LOGIN CONNECTION LIMIT ${analystConnectionLimit} PASSWORD ${client.escapeLiteral(verifier)}`,
  );
  await client.query(`GRANT ${analystRole} TO ${quoted}`);
  await letServiceEnd(client, role);
  await client.query("COMMIT");
  const gaps = await applySettings(client, role);
  if (gaps.length > 0) throw new Error(gaps.join("; "));
}

/** @throws Error when the login may do more than read. */
async function checkLogin(client: pg.Client, role: string): Promise<void> {
  const { rowCount } = await client.query(
    `SELECT FROM pg_roles r WHERE rolname = $1 AND NOT (rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls)
       AND (SELECT array_agg(g.rolname::text) FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid WHERE m.member = r.oid) = $2`,
    [role, [analystRole]],
  );
  if (rowCount !== 1)
    throw new Error(
      `role ${role} has more rights than an analyst's: drop it (mintyard analyst drop), then create it again`,
    );
}

/** The service's user may not create roles. */
class MissingRight extends Error {}

function askAdministrator(databaseUrl: string): (error: unknown) => never {
  return (error) => {
    const refused = error instanceof pg.DatabaseError && error.code === insufficientPrivilege;
    if (!refused && !(error instanceof MissingRight)) throw error;
    const { pathname, username } = new URL(databaseUrl);
    throw new Error(
      `${decodeURIComponent(username)} may not make roles; an administrator of the database runs this once, then the command works: ` +
        `npm run -s mintyard -- analyst sql | psql -U postgres -d ${decodeURIComponent(pathname.slice(1))}`,
      // The cause is left out: a command explains an error by the database's code if there is one.
    );
  };
}

/** Whether an administrator has created this function and the service may call it. */
async function isLent(client: pg.Client, signature: string): Promise<boolean> {
  const { rows } = await client.query<{ lent: boolean | null }>(
    `SELECT has_schema_privilege(n.oid, 'USAGE') AND has_function_privilege(p.oid, 'EXECUTE') AS lent
     FROM pg_namespace n JOIN pg_proc p ON p.pronamespace = n.oid
     WHERE n.nspname = $1 AND p.proname || '(' || oidvectortypes(p.proargtypes) || ')' = $2`,
    [administratorSchema, signature],
  );
  return rows[0]?.lent === true;
}

/**
 * The service's user looks at analysts' sessions and ends those that get in its way. PostgreSQL requires the privileges
 * of the analyst's role for that. The service gains nothing else by them: it may already do all that analysts may.
 */
async function letServiceEnd(client: pg.Client, role: string): Promise<void> {
  const { rows } = await client.query<{ owner: string; version: number }>(
    `SELECT r.rolname AS owner, current_setting('server_version_num')::int AS version
     FROM pg_namespace n JOIN pg_roles r ON r.oid = n.nspowner WHERE n.nspname = 'service' AND NOT r.rolsuper`,
  );
  const [service] = rows;
  if (!service) return;
  const [login, owner] = [client.escapeIdentifier(role), client.escapeIdentifier(service.owner)];
  await client.query(`GRANT ${login} TO ${owner}${service.version >= 160_000 ? " WITH INHERIT TRUE, SET FALSE" : ""}`);
}

/** Ends the analyst's sessions and drops the login. @returns false when there was no such login. */
export async function dropAnalystLogin(databaseUrl: string, name: string): Promise<boolean> {
  const role = loginRole(name);
  return await withConnection(databaseUrl, "analyst", async (client) => {
    if (!(await roleExists(client, role))) return false;
    if (await isLent(client, "drop_analyst(text)")) {
      const { rows } = await client.query<{ dropped: boolean }>(
        `SELECT ${administratorSchema}.drop_analyst($1) AS dropped`,
        [name],
      );
      return rows[0]?.dropped === true;
    }
    return await removeLogin(client, role).catch(askAdministrator(databaseUrl));
  });
}

async function removeLogin(client: pg.Client, role: string): Promise<true> {
  const quoted = client.escapeIdentifier(role);
  await client.query(`ALTER ROLE ${quoted} NOLOGIN`);
  await client.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", [role]);
  await client.query(`DROP ROLE ${quoted}`);
  return true;
}

function loginRole(name: string): string {
  if (!namePattern.test(name)) throw new Error("--name: lower-case letters, digits and _ are wanted, a letter first");
  return `${analystRole}_${name}`;
}

/** What PostgreSQL stores for a password (RFC 5803). ASCII passwords need no normalisation. */
function scramVerifier(password: string): string {
  const [salt, iterations] = [randomBytes(16), 4096];
  const salted = pbkdf2Sync(password, salt, iterations, 32, "sha256");
  const hmac = (text: string) => createHmac("sha256", salted).update(text).digest();
  const storedKey = createHash("sha256").update(hmac("Client Key")).digest("base64");
  return `SCRAM-SHA-256$${iterations}:${salt.toString("base64")}$${storedKey}:${hmac("Server Key").toString("base64")}`;
}
