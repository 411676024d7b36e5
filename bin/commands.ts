import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Argument, Command, Option } from "@commander-js/extra-typings";
import {
  type AnyCommand,
  addGroup,
  addHelp,
  exitWith,
  handOn,
  parseAddress,
  parseWhole,
  standsAlone,
} from "./command-line.ts";
import { addDevCommands } from "./dev.ts";
import { addEventCommands } from "./events-program.ts";
import { addLaunchCommands } from "./launch-program.ts";

const tiers = ["free", "growth", "scale", "enterprise"] as const;
const chargeStates = ["open", "settled", "void", "refund_due", "refunded"] as const;

// Each file is loaded only by the command that needs it: loading all of them takes longer than most commands.
const operator = () => import("./operator.ts");
const relay = () => import("./relay-operator.ts");
const wallets = () => import("./wallets.ts");
const analysts = () => import("./analyst.ts");
const ranges = () => import("./ranges.ts");

/** Every command of `mintyard`, in the order of `mintyard help`. */
export function createProgram(): Command {
  const program = new Command("mintyard")
    .description(
      "Beside start, demo, test and dev, commands work on the service that the environment names (DATABASE_URL,\n" +
        "RPC_URL_<CHAIN>, …); without DATABASE_URL, on the one that runs in MINTYARD_DATA_DIR (.mintyard).",
    )
    .version(versionOfPackage(), "--version")
    .enablePositionalOptions();
  addHelp(program);
  addServiceCommands(program);
  addSetupCommand(program);
  addLaunchCommands(program);
  addEventCommands(program);
  addAccountCommands(program);
  addContentCommands(program);
  addAnalystCommands(program);
  addChainCommands(program);
  handOn(
    program
      .command("test")
      .usage("[PATTERN…] [--changed] [--long] [--list]")
      .description("lint, types, contracts and the tests of the whole service (CONTRIBUTING.md)"),
    async (args) => await (await import("./run-tests.ts")).runTests(args),
  );
  addDevCommands(program);
  return program;
}

function versionOfPackage(): string {
  const text = readFileSync(join(import.meta.dirname, "../package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

function addServiceCommands(program: AnyCommand): void {
  standsAlone(program.command("start"))
    .description("run the whole service; what the environment does not name runs embedded")
    .action(async () => await exitWith((await import("./start.ts")).runStart()));
  standsAlone(program.command("demo"))
    .description("launch a collection on embedded parts, step by step, and read it back")
    .option("--keep", "leave the service running afterwards")
    .action(async (options) => await exitWith((await import("./demo.ts")).runDemo(options)));
}

function addSetupCommand(program: AnyCommand): void {
  standsAlone(program.command("setup"))
    .description("ask what a production installation needs, check each answer, and write its settings")
    .option("--file <path>", "the file to write; worker.env comes beside it", "mintyard.env")
    .action(async ({ file }) => await exitWith((await import("./setup/setup.ts")).setup(file)));
}

function addAccountCommands(program: AnyCommand): void {
  const accounts = addGroup(program, "accounts", "who may use the service");
  const keys = addGroup(program, "keys", "what accounts authenticate with");
  for (const [group, does] of [
    [accounts, "open an account, print its first key"],
    [keys, "the same as accounts create"],
  ] as const)
    group
      .command("create")
      .description(does)
      .option("--name <name>", "name of the account", "unnamed")
      .addOption(new Option("--tier <tier>", "its plan").choices(tiers).default("free" as const))
      .option("--email <address>", "where its owner is reached")
      .action(async (options) => await exitWith((await operator()).createAccount(options)));
  accounts
    .command("list")
    .description("all accounts")
    .action(async () => await exitWith((await operator()).printAccounts()));
  accounts
    .command("tier")
    .description("put an account on another plan")
    .argument("<account>", "id of the account")
    .addArgument(new Argument("<tier>", "the plan").choices(tiers))
    .action(async (id, tier) => await exitWith((await operator()).setTier(id, tier)));
  accounts
    .command("suspend")
    .description("refuse all requests of an account")
    .argument("<account>", "id of the account")
    .action(async (id) => await exitWith((await operator()).setSuspended(id, true)));
  accounts
    .command("resume")
    .description("take its requests again")
    .argument("<account>", "id of the account")
    .action(async (id) => await exitWith((await operator()).setSuspended(id, false)));
  keys
    .command("add")
    .description("a further key of an account")
    .argument("<account>", "id of the account")
    .option("--name <name>", "name of the key", "unnamed")
    .option("--scopes <list>", "of read,upload,deploy,admin; all when left out")
    .action(async (id, { name, scopes }) => await exitWith((await operator()).addKey(id, name, scopes)));
  keys
    .command("list")
    .description("the keys of an account, without their secrets")
    .argument("<account>", "id of the account")
    .action(async (id) => await exitWith((await operator()).printKeys(id)));
  keys
    .command("revoke")
    .description("end a key")
    .argument("<key>", "id of the key")
    .option("--uuid-only", "end only its spelling as a UUID")
    .action(async (id, { uuidOnly }) => await exitWith((await operator()).revokeKey(id, uuidOnly ? "uuid" : "all")));
  const charges = addGroup(program, "charges", "what accounts owe");
  charges
    .command("list")
    .description("what accounts owe for deployments")
    .addOption(new Option("--state <state>", "only these").choices(chargeStates))
    .action(async ({ state }) => await exitWith((await operator()).printCharges(state)));
  for (const [move, does] of [
    ["settle", "it was paid"],
    ["void", "it is not asked for"],
    ["refund", "it was paid back"],
  ] as const)
    charges
      .command(move)
      .description(does)
      .argument("<charge>", "id of the charge")
      .option("--note <text>", "kept with it")
      .action(async (id, { note }) => await exitWith((await operator()).changeCharge(id, move, note)));
  addGroup(program, "audit", "the audit log")
    .command("verify")
    .description("compute the audit log's chain of hashes anew; 1 when it differs")
    .action(async () => await exitWith((await operator()).checkAudit()));
}

function addContentCommands(program: AnyCommand): void {
  program
    .command("backup")
    .description("accounts, keys, deployments, metadata and uploads; see docs/operations.md")
    .argument("<folder>", "where the backup goes")
    .action(async (folder) => await exitWith((await import("./backup.ts")).runBackup("backup", folder)));
  program
    .command("restore")
    .description("put a backup into a fresh database and a fresh MINTYARD_DATA_DIR")
    .argument("<folder>", "where the backup is")
    .action(async (folder) => await exitWith((await import("./backup.ts")).runBackup("restore", folder)));
  program
    .command("import")
    .description("store the file tree of a CAR; every block is checked, all of it or nothing")
    .argument("<file.car>", "the CAR")
    .action(async (file) => await exitWith((await import("./content.ts")).runImport(file)));
  program
    .command("export")
    .description("write stored content as a CAR, to the standard output without a file")
    .argument("<cid>", "what to write")
    .argument("[file.car]", "where to")
    .action(async (cid, file) => await exitWith((await import("./content.ts")).runExport(cid, file)));
}

function addAnalystCommands(program: AnyCommand): void {
  const group = addGroup(program, "analyst", "logins that read schema analytics");
  group
    .command("create")
    .description("print a connection string that reads schema analytics and nothing else")
    .requiredOption("--name <name>", "name of the analyst")
    .action(async ({ name }) => await exitWith((await analysts()).createAnalyst(name)));
  group
    .command("drop")
    .description("end the analyst's sessions and take the login away")
    .requiredOption("--name <name>", "name of the analyst")
    .action(async ({ name }) => await exitWith((await analysts()).dropAnalyst(name)));
  group
    .command("check")
    .description("say what the role of analysts could still do beyond reading")
    .action(async () => await exitWith((await analysts()).checkAnalystRole()));
  group
    .command("sql")
    .description("print what a database administrator runs where the service's user may not")
    .action(async () => await exitWith((await analysts()).printAdministratorScript()));
}

function addChainCommands(program: AnyCommand): void {
  addGroup(program, "factory", "the contract that deploys collections")
    .command("deploy")
    .description("deploy the collection factory from the chain's relayer wallet")
    .requiredOption("--chain <name>", "name of the chain")
    .action(async ({ chain }) => await exitWith((await import("./factory.ts")).deployFactoryCommand(chain)));
  addGroup(program, "operator", "the contract that product contracts obey")
    .command("deploy")
    .description("deploy the operator of product contracts, and the contract of easy mints, from the relayer wallet")
    .requiredOption("--chain <name>", "name of the chain")
    .option("--name <name>", "of the contract of easy mints", "Mintyard Mints")
    .option("--symbol <symbol>", "of that contract", "MINT")
    .action(
      async ({ chain, name, symbol }) =>
        await exitWith((await import("./product-operator.ts")).deployOperatorCommand(chain, { name, symbol })),
    );
  addGroup(
    program,
    "requests",
    "what clients asked of a chain: deployments, updates, contracts, mints, burns, transfers",
  )
    .command("show")
    .description("all that is known of one")
    .argument("<id>", "its id, transaction hash or address")
    .action(async (id) => await exitWith((await relay()).showDeployment(id)));
  addWalletCommands(program);
  standsAlone(addGroup(program, "rpc", "endpoints of chains"))
    .command("check")
    .description("what endpoints can do, and what to set for their chain; 1 when one is of no use")
    .argument("<url...>", "http(s) URLs, of one chain")
    .action(async (urls) => await exitWith((await import("./rpc-check.ts")).checkEndpoints(urls)));
  program
    .command("doctor")
    .description("check the index of every chain against its invariants; 1 when one fails")
    .option("--samples <count>", "tokens to compare with the contracts", parseWhole, 300)
    .action(async ({ samples }) => await exitWith((await import("./doctor.ts")).doctor(samples)));
  const group = addGroup(program, "ranges", "ranges of ERC-2309 (docs/indexing.md)");
  group
    .command("withheld")
    .description("contracts with ERC-2309 ranges whose tokens are not listed (docs/indexing.md)")
    .requiredOption("--chain <name>", "name of the chain")
    .action(async ({ chain }) => await exitWith((await ranges()).printWithheld(chain)));
  for (const [name, does] of [
    ["allow", "list all ranges of a contract, each once its block is final"],
    ["forbid", "take that back for its further ranges; what is listed stays"],
  ] as const)
    group
      .command(name)
      .description(does)
      .argument("<contract>", "address of the contract", parseAddress)
      .requiredOption("--chain <name>", "name of the chain")
      .action(
        async (contract, { chain }) => await exitWith((await ranges()).setAllowed(chain, contract, name === "allow")),
      );
  program
    .command("reindex")
    .description("make the chain's next indexer start index it anew, while readers keep the old rows")
    .requiredOption("--chain <name>", "name of the chain")
    .action(async ({ chain }) => await exitWith((await import("./reindex.ts")).reindex(chain)));
}

function addWalletCommands(program: AnyCommand): void {
  const group = addGroup(
    program,
    "wallets",
    "the paying wallets: state, nonces, and whether each has the factory's role",
    async () => await (await wallets()).walletsCommand("list"),
  );
  for (const [name, does] of [
    ["open", "let a wallet send again"],
    ["halt", "stop a wallet"],
  ] as const)
    group
      .command(name)
      .description(does)
      .argument("<address>", "address of the wallet", parseAddress)
      .action(async (address) => await exitWith((await wallets()).walletsCommand(name, address)));
  group
    .command("reconcile")
    .description("after a restore: record what the wallet sent and is not known here")
    .argument("<address>", "address of the wallet", parseAddress)
    .option("--accept-external", "also what this service cannot have sent")
    .action(
      async (address, { acceptExternal }) =>
        await exitWith((await wallets()).walletsCommand("reconcile", address, acceptExternal)),
    );
  group
    .command("grant")
    .description(
      "give every configured wallet the factory's role, or print what its administrator sends; 3 when the time is over",
    )
    .option("--timeout <seconds>", "how long to wait", parseWhole, 300)
    .action(async ({ timeout }) => await exitWith((await wallets()).grantCommand(timeout)));
}
