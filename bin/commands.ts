import { type Command, command, rawCommand, UsageError } from "./command-line.ts";

const dataName = { name: { type: "string", default: "unnamed", shown: "N" } } as const;
const account = {
  ...dataName,
  tier: { type: "string", default: "free", shown: "T" },
  email: { type: "string", shown: "E" },
} as const;
const note = { note: { type: "string", shown: "TEXT" } } as const;
const chain = { chain: { type: "string", required: true, shown: "NAME" } } as const;
const analyst = { name: { type: "string", required: true, shown: "N" } } as const;

// Each file is loaded by the command that needs it: together they take longer than most commands.
const operator = () => import("./operator.ts");
const relay = () => import("./relay-operator.ts");
const wallets = () => import("./wallets.ts");
const analysts = () => import("./analyst.ts");
const ranges = () => import("./ranges.ts");

/** Every command of `mintyard`, in the order of `mintyard help`. */
export const commands: readonly Command[] = [
  command("start", {
    does: "run the whole service; what the environment does not name runs embedded",
    alone: true,
    run: async () => await (await import("./start.ts")).runStart(),
  }),
  command("demo", {
    does: "launch a collection on embedded parts, step by step, and read it back",
    alone: true,
    options: { keep: { type: "boolean" } },
    run: async (_, { keep }) => await (await import("./demo.ts")).runDemo({ keep }),
  }),
  command("accounts create", {
    does: "open an account, print its first key (T: free, growth, scale, enterprise)",
    options: account,
    run: async (_, values) => await (await operator()).createAccount(values),
  }),
  command("accounts list", { does: "all accounts", run: async () => await (await operator()).printAccounts() }),
  command("accounts tier", {
    does: "put an account on another plan",
    words: ["ACCOUNT", "T"],
    run: async ([id, tier]) => await (await operator()).setTier(id, tier),
  }),
  command("accounts suspend", {
    does: "refuse all requests of an account",
    words: ["ACCOUNT"],
    run: async ([id]) => await (await operator()).setSuspended(id, true),
  }),
  command("accounts resume", {
    does: "take its requests again",
    words: ["ACCOUNT"],
    run: async ([id]) => await (await operator()).setSuspended(id, false),
  }),
  command("keys create", {
    does: "the same as accounts create",
    options: account,
    run: async (_, values) => await (await operator()).createAccount(values),
  }),
  command("keys add", {
    does: "a further key of an account; scopes: read,upload,deploy,admin",
    words: ["ACCOUNT"],
    options: { ...dataName, scopes: { type: "string", shown: "LIST" } },
    run: async ([id], { name, scopes }) => await (await operator()).addKey(id, name, scopes),
  }),
  command("keys list", {
    does: "the keys of an account, without their secrets",
    words: ["ACCOUNT"],
    run: async ([id]) => await (await operator()).printKeys(id),
  }),
  command("keys revoke", {
    does: "end a key, or only its spelling as a UUID",
    words: ["KEY"],
    options: { "uuid-only": { type: "boolean" } },
    run: async ([id], values) => await (await operator()).revokeKey(id, values["uuid-only"] ? "uuid" : "all"),
  }),
  command("charges list", {
    does: "what accounts owe for deployments",
    options: { state: { type: "string", shown: "S" } },
    run: async (_, { state }) => await (await operator()).printCharges(state),
  }),
  ...(["settle", "void", "refund"] as const).map((move) =>
    command(`charges ${move}`, {
      does: { settle: "it was paid", void: "it is not asked for", refund: "it was paid back" }[move],
      words: ["CHARGE"],
      options: note,
      run: async ([id], values) => await (await operator()).changeCharge(id, move, values.note),
    }),
  ),
  command("audit verify", {
    does: "compute the audit log's chain of hashes anew; 1 when it differs",
    run: async () => await (await operator()).checkAudit(),
  }),
  command("backup", {
    does: "accounts, keys, deployments, metadata and uploads; see docs/operations.md",
    words: ["FOLDER"],
    run: async ([folder]) => await (await import("./backup.ts")).runBackup("backup", folder),
  }),
  command("restore", {
    does: "put a backup into a fresh database and a fresh MINTYARD_DATA_DIR",
    words: ["FOLDER"],
    run: async ([folder]) => await (await import("./backup.ts")).runBackup("restore", folder),
  }),
  command("import", {
    does: "store the file tree of a CAR; every block is checked, all of it or nothing",
    words: ["FILE.car"],
    run: async ([file]) => await (await import("./content.ts")).runImport(file),
  }),
  command("export", {
    does: "write stored content as a CAR, to the standard output without a file",
    words: ["CID", "[FILE.car]"],
    run: async ([cid, file]) => await (await import("./content.ts")).runExport(cid, file),
  }),
  command("analyst create", {
    does: "print a connection string that reads schema analytics and nothing else",
    options: analyst,
    run: async (_, { name }) => await (await analysts()).createAnalyst(name),
  }),
  command("analyst drop", {
    does: "end the analyst's sessions and take the login away",
    options: analyst,
    run: async (_, { name }) => await (await analysts()).dropAnalyst(name),
  }),
  command("analyst check", {
    does: "say what the role of analysts could still do beyond reading",
    run: async () => await (await analysts()).checkAnalystRole(),
  }),
  command("analyst sql", {
    does: "print what a database administrator runs where the service's user may not",
    run: async () => await (await analysts()).printAdministratorScript(),
  }),
  command("factory deploy", {
    does: "deploy the collection factory from the chain's relayer wallet",
    options: chain,
    run: async (_, values) => await (await import("./factory.ts")).deployFactoryCommand(values.chain),
  }),
  command("operator deploy", {
    does: "deploy the operator of product contracts, and the contract of easy mints, from the relayer wallet",
    options: {
      ...chain,
      name: { type: "string", default: "Mintyard Mints", shown: "NAME" },
      symbol: { type: "string", default: "MINT", shown: "SYMBOL" },
    },
    run: async (_, { chain: on, name, symbol }) =>
      await (await import("./product-operator.ts")).deployOperatorCommand(on, { name, symbol }),
  }),
  command("deployments show", {
    does: "all that is known of one: its id, transaction hash or address",
    words: ["ID"],
    run: async ([id]) => await (await relay()).showDeployment(id),
  }),
  command("wallets", {
    does: "the paying wallets: state, nonces, and whether each has the factory's role",
    run: async () => await (await wallets()).walletsCommand("list"),
  }),
  ...(["open", "halt"] as const).map((action) =>
    command(`wallets ${action}`, {
      does: action === "open" ? "let a wallet send again" : "stop a wallet",
      words: ["ADDRESS"],
      run: async ([address]) => await (await wallets()).walletsCommand(action, wallet(address)),
    }),
  ),
  command("wallets reconcile", {
    does: "after a restore: note what the wallet sent and is not known here",
    words: ["ADDRESS"],
    options: { "accept-external": { type: "boolean" } },
    run: async ([address], values) =>
      await (await wallets()).walletsCommand("reconcile", wallet(address), values["accept-external"]),
  }),
  command("wallets grant", {
    does: "give every configured wallet the factory's role, or print what its administrator sends; 3 after S seconds",
    options: { timeout: { type: "string", default: "300", shown: "S" } },
    run: async (_, { timeout }) => await (await wallets()).grantCommand(whole(timeout, "--timeout")),
  }),
  command("doctor", {
    does: "check the index of every chain against its invariants; 1 when one fails",
    options: { samples: { type: "string", default: "300", shown: "N" } },
    run: async (_, { samples }) => await (await import("./doctor.ts")).doctor(whole(samples, "--samples")),
  }),
  command("ranges withheld", {
    does: "contracts with ERC-2309 ranges whose tokens are not listed (docs/indexing.md)",
    options: chain,
    run: async (_, values) => await (await ranges()).printWithheld(values.chain),
  }),
  command("ranges allow", {
    does: "list all ranges of a contract, each once its block is final",
    words: ["CONTRACT"],
    options: chain,
    run: async ([contract], values) => await (await ranges()).setAllowed(values.chain, contract, true),
  }),
  command("ranges forbid", {
    does: "take that back for its further ranges; what is listed stays",
    words: ["CONTRACT"],
    options: chain,
    run: async ([contract], values) => await (await ranges()).setAllowed(values.chain, contract, false),
  }),
  command("reindex", {
    does: "make the chain's next indexer start index it anew, while readers keep the old rows",
    options: chain,
    run: async (_, values) => await (await import("./reindex.ts")).reindex(values.chain),
  }),
  rawCommand("test", {
    takes: "[PATTERN…] [--changed] [--long] [--list]",
    does: "lint, types, contracts and the tests of the whole service (CONTRIBUTING.md)",
    run: async (args) => await (await import("./run-tests.ts")).runTests(args),
  }),
  rawCommand("dev", {
    takes: "[COMMAND]",
    does: "benchmarks, chaos runs, generated files; alone it lists them",
    run: async (args) => await (await import("./dev.ts")).runDev(args),
  }),
];

function wallet(text: string): string {
  if (/^0x[0-9a-f]{40}$/i.test(text)) return text;
  throw new UsageError(`ADDRESS is 0x and 40 hex digits, not ${JSON.stringify(text)}`);
}

function whole(text: string, what: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new UsageError(`${what} is a whole number, not ${JSON.stringify(text)}`);
}
