import { mkdir, readFile, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { newSecret, secretText } from "../../src/outbox/sign-webhook.ts";
import { CommandError } from "../command-error.ts";

/**
 * The secret that `events listen` and `events trigger` sign with: one for this machine and user, so that a receiver is
 * configured only once. It is in the user's configuration folder (XDG Base Directory Specification), and only the user
 * may read it.
 *
 * @returns `whsec_…`
 * @throws CommandError for a file with other content.
 */
export async function readListenSecret(env: NodeJS.ProcessEnv): Promise<string> {
  const folder = join(env["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "mintyard");
  const path = join(folder, "listen-secret");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // When two commands start at the same time, one writes and both read what it wrote.
  await writeFile(path, `${secretText(newSecret())}\n`, { mode: 0o600, flag: "wx" }).catch((error) => {
    if (error.code !== "EEXIST") throw error;
  });
  const text = (await readFile(path, "utf8")).trim();
  if (!/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/.test(text))
    throw new CommandError(`${path} has no secret of webhooks (whsec_…); delete it, and a new one is made`);
  return text;
}
