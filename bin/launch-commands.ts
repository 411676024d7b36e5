// `mintyard launch`: a folder becomes a collection. The work is in bin/launch; this file knows the command line and where
// the service is.
import { confirm, isCancel } from "@clack/prompts";
import { DataFolder } from "../src/embedded/data-folder.ts";
import { readAllowlist } from "./launch/allowlist.ts";
import { askSettings } from "./launch/ask-settings.ts";
import { LaunchError } from "./launch/launch-error.ts";
import { createReporter, type Reporter } from "./launch/reporter.ts";
import { isExpected, runLaunch } from "./launch/run-launch.ts";
import type { ServiceAddress } from "./launch/service-client.ts";
import { showStatus } from "./launch/show-status.ts";
import { showWithdrawal } from "./launch/show-withdrawal.ts";
import { revealOf, updateLaunched } from "./launch/update-collection.ts";
import { writeSnapshot } from "./launch/write-snapshot.ts";

export interface ServiceOptions {
  url?: string | undefined;
  json?: true | undefined;
}

export interface LaunchArguments extends ServiceOptions {
  strict?: true | undefined;
  dryRun?: true | undefined;
  yes?: true | undefined;
  pinTimeout: number;
}

export async function launch(
  folder: string,
  { strict, dryRun, yes, pinTimeout, ...where }: LaunchArguments,
): Promise<number> {
  return await reporting(where, async (reporter) => {
    await runLaunch(folder, serviceOf(where), reporter, {
      strict: strict ?? false,
      dryRun: dryRun ?? false,
      pinTimeoutMs: pinTimeout * 1_000,
      confirm: async (question) => yes === true || (await ask(question)),
    });
  });
}

/** Money is spent without a question only where that was asked for. */
async function ask(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new LaunchError(`${question} Nobody can answer here: repeat the command with --yes`);
  const answer = await confirm({ message: question, initialValue: false });
  return !isCancel(answer) && answer;
}

export async function initialise(folder: string): Promise<number> {
  return await reporting({}, async () => await askSettings(folder));
}

export async function status(folder: string, where: ServiceOptions): Promise<number> {
  return await reporting(where, async (reporter) => await showStatus(folder, serviceOf(where), reporter));
}

export async function reveal(folder: string, where: ServiceOptions): Promise<number> {
  return await reporting(where, async (reporter) => {
    await updateLaunched(folder, serviceOf(where), reporter, "reveal", revealOf);
  });
}

export async function setAllowlist(file: string, folder: string, where: ServiceOptions): Promise<number> {
  return await reporting(where, async (reporter) => {
    const { wallets, repeats } = await readAllowlist(file);
    reporter.step("allowlist", `${wallets.length} wallets${repeats > 0 ? `, ${repeats} repeats dropped` : ""}`);
    await updateLaunched(folder, serviceOf(where), reporter, "allowlist", () => ({ allowlist: wallets }));
  });
}

export async function withdraw(folder: string, where: ServiceOptions): Promise<number> {
  return await reporting(where, async (reporter) => showWithdrawal(folder, reporter));
}

export async function snapshot(
  folder: string,
  { out, block, ...where }: ServiceOptions & { out: string; block?: number | undefined },
): Promise<number> {
  return await reporting(where, async (reporter) => {
    await writeSnapshot(folder, serviceOf(where), reporter, { out, block: block?.toString() });
  });
}

async function reporting(where: ServiceOptions, work: (reporter: Reporter) => Promise<void>): Promise<number> {
  const reporter = createReporter(where.json ?? false);
  try {
    await work(reporter);
    return 0;
  } catch (error) {
    reporter.end();
    if (where.json) reporter.step("error", error instanceof Error ? error.message : String(error));
    if (!isExpected(error)) throw error;
    process.stderr.write(`mintyard launch: ${error.message}\n`);
    return 1;
  }
}

/** The service of `--url`, or the one that runs here. Its own key goes to it alone; any other needs MINTYARD_KEY. */
function serviceOf({ url }: ServiceOptions): ServiceAddress {
  const local = DataFolder.environmentOf(process.env["MINTYARD_DATA_DIR"]);
  const localUrl = local ? `http://127.0.0.1:${local["PORT"]}` : null;
  const chosen = url ?? localUrl;
  if (chosen === null)
    throw new LaunchError("no service runs here: start one with `mintyard start`, or name one with --url");
  const parsed = URL.parse(chosen);
  if (!parsed || !/^https?:$/.test(parsed.protocol))
    throw new LaunchError(`--url is the address of a service, not ${JSON.stringify(chosen)}`);
  const own = parsed.origin === localUrl ? local?.["MINTYARD_API_KEY"] : undefined;
  const key = process.env["MINTYARD_KEY"] || own;
  if (!key) throw new LaunchError(`MINTYARD_KEY is missing: it has the API key of ${parsed.origin}`);
  return { url: parsed.origin, key };
}
