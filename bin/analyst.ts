import { administratorScript } from "../schema/analyst-role.ts";
import { loadConfig } from "../src/config.ts";
import { createAnalystLogin, dropAnalystLogin } from "../src/db/analyst-logins.ts";
import { ensureAnalystRole } from "../src/db/analyst-role.ts";
import { prepareDatabase } from "../src/db/prepare.ts";
import { createLogger } from "../src/log.ts";

/** Logins of analysts; docs/analysts.md. @returns the exit code, or null for an action that does not exist. */
export async function runAnalyst(action: string, name: string | undefined): Promise<number | null> {
  const { databaseUrl, logLevel } = loadConfig();
  if (action === "create" && name !== undefined) {
    await prepareDatabase(databaseUrl, createLogger("analyst", logLevel));
    process.stdout.write(`${JSON.stringify(await createAnalystLogin(databaseUrl, name))}\n`);
    return 0;
  }
  if (action === "drop" && name !== undefined) {
    const dropped = await dropAnalystLogin(databaseUrl, name);
    process.stdout.write(dropped ? `${name} has no access any more\n` : `there is no analyst ${name}\n`);
    return dropped ? 0 : 1;
  }
  if (action === "check") {
    const open = await ensureAnalystRole(databaseUrl);
    process.stdout.write(open.length === 0 ? "closed\n" : open.map((gap) => `open: ${gap}\n`).join(""));
    return open.length === 0 ? 0 : 1;
  }
  if (action === "sql") {
    process.stdout.write(administratorScript(decodeURIComponent(new URL(databaseUrl).username)));
    return 0;
  }
  return null;
}
