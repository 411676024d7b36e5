// The command line: `node bin/mintyard.ts <command>`, or `npm run <command>`.
import { parseArgs } from "node:util";
import { joinRunningStack } from "../src/embedded/running-stack.ts";
import { runAnalyst } from "./analyst.ts";
import { runBackup } from "./backup.ts";
import { runExport, runImport } from "./content.ts";
import { runDemo } from "./demo.ts";
import { doctor } from "./doctor.ts";
import { deployFactoryCommand } from "./factory.ts";
import { runAccounts, runAudit, runCharges, runKeys } from "./operator.ts";
import { reindex } from "./reindex.ts";
import { lanesCommand, showDeployment } from "./relay-operator.ts";
import { runTests } from "./run-tests.ts";
import { runStart } from "./start.ts";

const usage = `usage: mintyard <command>

Beside start, demo and test, commands work on the service that the environment names (DATABASE_URL, RPC_URL_<CHAIN>, …);
without DATABASE_URL, on the one that runs in MINTYARD_DATA_DIR (.mintyard).

  start                            run the whole service; what the environment does not name runs embedded
  demo [--keep]                    launch a collection on embedded parts, step by step, and read it back
  accounts create --name N [--tier T] [--email E]   open an account, print its first key
  accounts list | tier ID T | suspend ID | resume ID   (T: free, growth, scale, enterprise)
  keys create --tier T --name N    the same as accounts create
  keys add ACCOUNT --name N [--scopes read,upload]  a further key of an account
  keys list ACCOUNT | revoke KEY [--uuid-only]
  charges list [--state open] | settle ID | void ID | refund ID  [--note TEXT]
  audit verify                     compute the audit log's chain of hashes anew
  backup FOLDER | restore FOLDER   accounts, keys, deployments, metadata and uploads; see docs/operations.md
  import FILE.car                  store the file tree of a CAR; every block is checked, all of it or nothing
  export CID [FILE.car]            write stored content as a CAR, to the standard output without a file
  analyst create --name N          print a connection string that reads schema analytics and nothing else
  analyst drop --name N            end the analyst's sessions and take the login away
  analyst check                    say what the role of analysts could still do beyond reading
  analyst sql                      print what a database administrator runs where the service's user may not
  factory deploy --chain NAME      deploy the collection factory from the chain's relayer wallet
  deployments show ID              all that is known of one: ID, transaction hash or address
  lanes [open|halt ADDRESS]        the paying wallets; open or halt one
  lanes reconcile ADDRESS [--accept-foreign]   after a restore: note what the wallet sent and is not known here
  lanes grant                      let every wallet of RELAYER_KEY_<CHAIN> deploy; the first one signs
  doctor [--samples N]             check the index of every chain against its invariants; 1 when one fails
  reindex --chain NAME             make the chain's next indexer start index it anew, while readers keep the old rows
  test                             lint, types, contracts and the tests of the whole service
`;

const [command = "", ...rest] = process.argv.slice(2);
/** These bring their own parts. */
const alone = new Set(["start", "demo", "test"]);
try {
  if (!alone.has(command)) joinRunningStack(process.env);
  process.exitCode = await run(command, rest);
} catch (error) {
  process.stderr.write(`mintyard ${command}: ${describe(error)}\n`);
  process.exitCode = 1;
}
// An open channel to the process that started this one would keep it running.
if (process.connected) process.disconnect();

async function run(name: string, args: string[]): Promise<number> {
  switch (name) {
    case "start":
      return await runStart();
    case "demo":
      return await runDemo(parseArgs({ args, options: { keep: { type: "boolean", default: false } } }).values);
    case "accounts":
      return await runAccounts(args);
    case "keys":
      return await runKeys(args);
    case "charges":
      return await runCharges(args);
    case "audit":
      return await runAudit(args);
    case "backup":
    case "restore":
      return await runBackup(name, args);
    case "import":
    case "export": {
      const code = await (name === "import" ? runImport(args) : runExport(args));
      if (code === null) break;
      return code;
    }
    case "analyst": {
      const options = { name: { type: "string" } } as const;
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
      const code = await runAnalyst(positionals[0] ?? "", values.name);
      if (code === null) break;
      return code;
    }
    case "factory": {
      const { values, positionals } = parseArgs({
        args,
        allowPositionals: true,
        options: { chain: { type: "string" } },
      });
      if (positionals[0] !== "deploy" || !values.chain) break;
      return await deployFactoryCommand(values.chain);
    }
    case "deployments":
      if (args[0] !== "show" || !args[1]) break;
      return await showDeployment(args[1]);
    case "lanes": {
      const options = { "accept-foreign": { type: "boolean", default: false } } as const;
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
      const [action = "", address = ""] = positionals;
      const wanted = positionals.join(" ");
      if (wanted !== "" && !/^(grant|(open|halt|reconcile) 0x[0-9a-f]{40})$/i.test(wanted)) break;
      return await lanesCommand(action, address, values["accept-foreign"]);
    }
    case "doctor": {
      const { values } = parseArgs({ args, options: { samples: { type: "string", default: "300" } } });
      return await doctor(Number(values.samples));
    }
    case "reindex": {
      const { values } = parseArgs({ args, options: { chain: { type: "string" } } });
      if (!values.chain) break;
      return await reindex(values.chain);
    }
    case "test":
      return await runTests(args);
  }
  process.stderr.write(usage);
  return name === "" || name === "help" || name === "--help" ? 0 : 2;
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? `\n  because: ${error.cause.message}` : "";
  return `${error.message}${cause}`;
}
