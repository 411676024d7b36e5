import { type AnyCommand, addGroup, exitWith, parseWhole, standsAlone, withService } from "./command-line.ts";

const commands = () => import("./launch-commands.ts");

const collect = (value: string, before: string[] = []) => [...before, value];

/** Adds `mintyard launch FOLDER`, and the commands for a folder after its launch. */
export function addLaunchCommands(program: AnyCommand): void {
  const group = standsAlone(addGroup(program, "launch", "launch a folder of pictures and documents (docs/launch.md)"));
  for (const [name, does] of [
    ["run", "the same as launch <folder>: check, upload, dry run, deploy, verify; it goes on where it ended"],
    ["resume", "the same as run"],
  ] as const)
    withService(group.command(name, { isDefault: name === "run" }))
      .description(does)
      .argument("<folder>", "has images/ and metadata/, or a HashLips build/, and launch.json")
      .option("--strict", "warnings are errors")
      .option("--dry-run", "say what it would cost; nothing is uploaded or paid")
      .option("--yes", "deploy without a question")
      .option("--files-from <folder>", "files of the launch may be in here too, behind links; may be repeated", collect)
      .option("--trust-journal", "go on from a journal that was not written by you on this machine")
      .option("--pin-timeout <seconds>", "how long to wait until everything is pinned", parseWhole, 600)
      .action(async (folder, options) => await exitWith((await commands()).launch(folder, options)));
  group
    .command("init")
    .description("ask for what launch.json needs, and write it")
    .argument("<folder>", "the folder")
    .action(async (folder) => await exitWith((await commands()).initialise(folder)));
  withService(group.command("status"))
    .description("how far a launch is")
    .argument("<folder>", "the folder")
    .action(async (folder, options) => await exitWith((await commands()).status(folder, options)));
  withService(group.command("reveal"))
    .description("show the tokens of a collection that was deployed with a placeholder")
    .argument("<folder>", "the folder")
    .action(async (folder, options) => await exitWith((await commands()).reveal(folder, options)));
  const allowlist = group.command("allowlist").description("the wallets of the presale").helpCommand(false);
  withService(allowlist.command("set"))
    .description("replace the wallets of the presale")
    .argument("<file>", "one wallet a line, or a CSV with the wallets first")
    .argument("<folder>", "the folder")
    .action(async (file, folder, options) => await exitWith((await commands()).setAllowlist(file, folder, options)));
  group
    .command("withdraw")
    .description("print the transaction that sends the revenue to the treasury, for the owner's wallet")
    .argument("<folder>", "the folder")
    .option("--json", "one JSON object a line")
    .action(async (folder, options) => await exitWith((await commands()).withdraw(folder, options)));
  withService(group.command("snapshot"))
    .description("write who holds which token as CSV")
    .argument("<folder>", "the folder")
    .requiredOption("--out <file>", "a file that does not exist yet")
    .option("--block <number>", "as it was after this block", parseWhole)
    .action(async (folder, options) => await exitWith((await commands()).snapshot(folder, options)));
}
