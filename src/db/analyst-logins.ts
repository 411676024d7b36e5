import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import pg from "pg";
import { analystConnectionLimit, analystRole } from "../../schema/analyst-role.ts";
import { applySettings, roleExists } from "./analyst-role.ts";

const namePattern = /^[a-z][a-z0-9_]{0,40}$/;

/**
 * Makes a login for one analyst, or gives an existing one a new password.
 *
 * @param name lower-case letters, digits and `_`; the role is `mintyard_analyst_<name>`.
 * @returns the connection string, the only time its password can be seen.
 */
export async function createAnalystLogin(databaseUrl: string, name: string): Promise<{ role: string; url: string }> {
  const role = loginRole(name);
  const password = randomBytes(24).toString("base64url");
  await withClient(databaseUrl, async (client) => {
    if (!(await roleExists(client, analystRole)))
      throw new Error(
        `role ${analystRole} is missing; an administrator makes it with the output of: mintyard analyst sql`,
      );
    const quoted = client.escapeIdentifier(role);
    await client.query("BEGIN");
    if (!(await roleExists(client, role))) await client.query(`CREATE ROLE ${quoted}`);
    // The verifier instead of the password: statements can end up in the server's log.
    await client.query(
      `ALTER ROLE ${quoted} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE INHERIT CONNECTION LIMIT ${analystConnectionLimit}
       PASSWORD ${client.escapeLiteral(scramVerifier(password))}`,
    );
    await client.query(`GRANT ${analystRole} TO ${quoted}`);
    await client.query("COMMIT");
    const gaps = await applySettings(client, role);
    if (gaps.length > 0) throw new Error(gaps.join("; "));
  });
  const url = new URL(databaseUrl);
  url.username = role;
  url.password = password;
  return { role, url: url.href };
}

/** Ends the analyst's sessions and removes the login. @returns false when there was none. */
export async function dropAnalystLogin(databaseUrl: string, name: string): Promise<boolean> {
  const role = loginRole(name);
  return withClient(databaseUrl, async (client) => {
    if (!(await roleExists(client, role))) return false;
    const quoted = client.escapeIdentifier(role);
    await client.query(`ALTER ROLE ${quoted} NOLOGIN`);
    await client.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", [role]);
    await client.query(`DROP ROLE ${quoted}`);
    return true;
  });
}

function loginRole(name: string): string {
  if (!namePattern.test(name)) throw new Error("--name: lower-case letters, digits and _ are wanted, a letter first");
  return `${analystRole}_${name}`;
}

async function withClient<T>(databaseUrl: string, run: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: "mintyard-analyst" });
  await client.connect();
  try {
    return await run(client);
  } finally {
    await client.end();
  }
}

/** What PostgreSQL stores of a password (RFC 5803); ASCII passwords need no normalisation. */
function scramVerifier(password: string): string {
  const [salt, iterations] = [randomBytes(16), 4096];
  const salted = pbkdf2Sync(password, salt, iterations, 32, "sha256");
  const hmac = (text: string) => createHmac("sha256", salted).update(text).digest();
  const storedKey = createHash("sha256").update(hmac("Client Key")).digest("base64");
  return `SCRAM-SHA-256$${iterations}:${salt.toString("base64")}$${storedKey}:${hmac("Server Key").toString("base64")}`;
}
