// Logins of analysts; docs/analysts.md.
import { administratorScript } from "../schema/analyst-admin.ts";
import { loadConfig } from "../src/config/config.ts";
import { createAnalystLogin, dropAnalystLogin } from "../src/db/admin/analyst-logins.ts";
import { ensureAnalystRole } from "../src/db/admin/analyst-role.ts";
import { prepareDatabase } from "../src/processes/prepare-database.ts";
import { createLogger } from "../src/telemetry/log.ts";

/** Prints the login's connection string with its password, which cannot be shown again. */
export async function createAnalyst(name: string): Promise<number> {
  const { databaseUrl, logLevel } = loadConfig();
  await prepareDatabase(databaseUrl, createLogger("analyst", logLevel));
  process.stdout.write(`${JSON.stringify(await createAnalystLogin(databaseUrl, name))}\n`);
  return 0;
}

/** @returns 1 when there is no such analyst. */
export async function dropAnalyst(name: string): Promise<number> {
  const dropped = await dropAnalystLogin(loadConfig().databaseUrl, name);
  process.stdout.write(dropped ? `${name} has no access any more\n` : `there is no analyst ${name}\n`);
  return dropped ? 0 : 1;
}

/** @returns 1 when the analysts' role may do more than read. */
export async function checkAnalystRole(): Promise<number> {
  const open = await ensureAnalystRole(loadConfig().databaseUrl);
  process.stdout.write(open.length === 0 ? "closed\n" : open.map((gap) => `open: ${gap}\n`).join(""));
  return open.length === 0 ? 0 : 1;
}

export async function printAdministratorScript(): Promise<number> {
  const { username } = new URL(loadConfig().databaseUrl);
  process.stdout.write(administratorScript(decodeURIComponent(username)));
  return 0;
}
