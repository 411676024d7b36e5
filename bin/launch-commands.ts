// `mintyard launch`: turns a folder into a collection. The work is done in bin/launch; this file parses the command
// line and locates the service.
import { confirm, isCancel } from "@clack/prompts";
import { CommandError } from "./command-error.ts";
import { readAllowlist } from "./launch/allowlist.ts";
import { askSettings } from "./launch/ask-settings.ts";
import { createReporter, type Reporter } from "./launch/reporter.ts";
import { isExpected, runLaunch } from "./launch/run-launch.ts";
import { showStatus } from "./launch/show-status.ts";
import { showWithdrawal } from "./launch/show-withdrawal.ts";
import { revealOf, updateLaunched } from "./launch/update-collection.ts";
import { writeSnapshot } from "./launch/write-snapshot.ts";
import { findService, type ServiceOptions } from "./service-address.ts";

export interface LaunchArguments extends ServiceOptions {
  strict?: true | undefined;
  dryRun?: true | undefined;
  yes?: true | undefined;
  pinTimeout: number;
  filesFrom?: string[] | undefined;
  trustJournal?: true | undefined;
}

export async function launch(
  folder: string,
  { strict, dryRun, yes, pinTimeout, filesFrom, trustJournal, ...where }: LaunchArguments,
): Promise<number> {
  return await reporting(where, async (reporter) => {
    await runLaunch(folder, findService(where), reporter, {
      strict: strict ?? false,
      dryRun: dryRun ?? false,
      pinTimeoutMs: pinTimeout * 1_000,
      filesFrom: filesFrom ?? [],
      trustJournal: trustJournal ?? false,
      // `--yes` only accepts the price.
      confirm: async (question, option) => (option === "--yes" && yes === true) || (await ask(question, option)),
    });
  });
}

/** Money is spent without a question only if an option says so. */
async function ask(question: string, option: string): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new CommandError(`${question} Nobody can answer here: repeat the command with ${option}`);
  const answer = await confirm({ message: question, initialValue: false });
  return !isCancel(answer) && answer;
}

export async function initialise(folder: string): Promise<number> {
  return await reporting({}, async () => await askSettings(folder));
}

export async function status(folder: string, where: ServiceOptions): Promise<number> {
  return await reporting(where, async (reporter) => await showStatus(folder, findService(where), reporter));
}

export async function reveal(folder: string, where: ServiceOptions): Promise<number> {
  return await reporting(where, async (reporter) => {
    await updateLaunched(folder, findService(where), reporter, "reveal", revealOf);
  });
}

export async function setAllowlist(file: string, folder: string, where: ServiceOptions): Promise<number> {
  return await reporting(where, async (reporter) => {
    const { wallets, repeats } = await readAllowlist(file);
    reporter.step("allowlist", `${wallets.length} wallets${repeats > 0 ? `, ${repeats} repeats dropped` : ""}`);
    await updateLaunched(folder, findService(where), reporter, "allowlist", () => ({ allowlist: wallets }));
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
    await writeSnapshot(folder, findService(where), reporter, { out, block: block?.toString() });
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
