import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { access, constants, mkdir, readFile, statfs } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type Address, formatEther, type Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { knownChains, localChainIds } from "../../src/chains.ts";
import { loadConfig } from "../../src/config/config.ts";
import { readRanges } from "../../src/config/values.ts";
import { withConnection } from "../../src/db/connection.ts";
import { clockAction, clockTrouble, readClockLead } from "../../src/db/pool/clock.ts";
import { readReplication } from "../../src/db/replicas/replication.ts";
import { checkEndpoint, type EndpointFacts } from "../../src/indexing/check-endpoint.ts";
import { sendRpc } from "../../src/indexing/json-rpc.ts";
import { openCars } from "../../src/ipfs/content-store.ts";
import { nodeWords } from "../../src/rpc/answers.ts";
import { type Checked, type Question, Refused, type Settings } from "./ask.ts";
import { writeWhole } from "./write-whole.ts";

const limits = { timeoutMs: 10_000, maxAnswerBytes: 1_000_000 };
const oldestPostgres = 150_000;

/** The questions for a production installation, in order. Later ones use the settings of earlier ones. */
export const questions: readonly Question[] = [
  {
    asks: "DATABASE_URL: which PostgreSQL, 15 or newer? postgres://login:password@host:5432/database",
    secret: true,
    check: checkDatabase,
  },
  {
    asks: "MINTYARD_DATA_DIR: in which folder does this machine keep files? (/var/lib/mintyard)",
    check: (answer) => checkFolder(answer || "/var/lib/mintyard"),
  },
  {
    asks: "PUBLIC_URL: under which URL do clients reach the service? https://mint.example",
    check: checkPublicUrl,
  },
  {
    asks: "TRUSTED_PROXIES: which reverse proxy passes requests on to it? Its address, or none (127.0.0.1)",
    check: checkProxies,
  },
  { asks: "Which chain? ethereum, polygon, or a name of yours, such as base", check: checkChainName },
  {
    asks: "RPC_URL: which endpoints of that chain, best first, with commas? Two of different providers are better than one",
    secret: true,
    check: checkEndpoints,
  },
  {
    asks: "Which wallet pays for deployments? `new`, the path of a file with its private key, or none (new)",
    check: (answer, so) => checkWallet(answer || "new", so),
  },
  {
    asks: "FACTORY: which collection factory is already there? Its address and its block, or later (later)",
    when: (so) => Object.keys(so).some((name) => name.startsWith("RELAYER_KEY_FILE_")),
    check: checkFactory,
  },
  {
    asks: "IPFS_STORE: where do uploads lie? s3://bucket/prefix, or in the folder of this machine (folder)",
    check: (answer, so) => checkStore(answer, so),
  },
  { asks: "SIGN_UP: may anybody open a free account? on or off (off)", check: checkSignUp },
];

async function checkDatabase(answer: string): Promise<Checked> {
  if (!/^postgres(ql)?:\/\/[^/]+\/\w+/.test(answer))
    throw new Refused("DATABASE_URL is postgres://login:password@host:5432/database");
  requireWritable("DATABASE_URL", answer);
  try {
    return await withConnection(answer, "setup", async (client) => {
      const { rows } = await client.query<{ version: string; may: boolean; superuser: boolean; roles: boolean }>(
        `SELECT current_setting('server_version_num') AS version,
           has_database_privilege(current_database(), 'CREATE') AS may, rolsuper AS superuser,
           rolsuper OR rolcreaterole OR to_regrole('mintyard_api') IS NOT NULL AS roles
         FROM pg_roles WHERE rolname = current_user`,
      );
      const [server] = rows;
      if (!server || Number(server.version) < oldestPostgres)
        throw new Refused("DATABASE_URL names a PostgreSQL older than 15: upgrade it, or name another");
      if (!server.may)
        throw new Refused(
          "DATABASE_URL: this login may not create schemas there: GRANT CREATE ON DATABASE … TO … as its owner",
        );
      const trouble = clockTrouble(await readClockLead(client));
      if (trouble) throw new Refused(`${trouble}: ${clockAction}`);
      const { standbys, synchronous } = await readReplication(client);
      return {
        set: { DATABASE_URL: answer },
        seen: [
          "ok   it answers, and the login may create schemas",
          ...(server.superuser ? ["note this login is a superuser: give the service one of its own"] : []),
          ...(server.roles
            ? []
            : ["note the login may not create roles: run `mintyard analyst sql` once (docs/operations.md)"]),
          standbys === 0
            ? "note it has no standby: what it loses is lost (docs/cluster.md)"
            : `${synchronous ? "ok  " : "note"} ${standbys} standbys follow ${synchronous ? "" : "a"}synchronously`,
        ],
      };
    });
  } catch (error) {
    if (error instanceof Refused) throw error;
    throw new Refused(`DATABASE_URL: ${(error as Error).message || "no answer"}: mend host, login or password`);
  }
}

/** Shells, systemd and Compose read a value the same way unless it contains one of these. */
function requireWritable(name: string, value: string): void {
  if (/['\\\n]/.test(value))
    throw new Refused(
      `${name} has a quotation mark or a backslash in it: write it as %27 or %5C, or choose another password`,
    );
}

async function checkFolder(answer: string): Promise<Checked> {
  const folder = resolve(answer);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await access(folder, constants.W_OK);
  } catch (error) {
    throw new Refused(`MINTYARD_DATA_DIR: ${(error as Error).message}: name a folder that this user may write`);
  }
  const { bavail, bsize } = await statfs(folder);
  const free = Math.floor((bavail * bsize) / 2 ** 30);
  return { set: { MINTYARD_DATA_DIR: folder }, seen: [`ok   it can be written; ${free} GiB are free`] };
}

function checkPublicUrl(answer: string): Checked {
  const url = URL.canParse(answer) ? new URL(answer) : null;
  const isHere = url !== null && ["localhost", "127.0.0.1"].includes(url.hostname);
  if (!url || !/^https?:$/.test(url.protocol)) throw new Refused("PUBLIC_URL is a URL such as https://mint.example");
  if (url.protocol === "http:" && !isHere)
    throw new Refused("PUBLIC_URL: use https; keys would be sent in the clear, and wallets refuse pages of http");
  if (url.pathname !== "/" || url.search || url.hash)
    throw new Refused("PUBLIC_URL is the origin alone, without a path: https://mint.example");
  return { set: { PUBLIC_URL: url.origin } };
}

function checkProxies(answer: string): Checked {
  if (answer === "none") return { set: {} };
  const set = { TRUSTED_PROXIES: answer || "127.0.0.1" };
  try {
    readRanges(set, "TRUSTED_PROXIES");
  } catch (error) {
    throw new Refused(`${(error as Error).message}; several stand with commas between them`);
  }
  return { set };
}

function checkChainName(answer: string): Checked {
  if (!/^[a-z][a-z0-9_]{1,30}$/.test(answer))
    throw new Refused("the name of a chain is 2 to 31 lower-case letters and digits, such as base");
  return { set: { CHAIN: answer } };
}

/** The suffix of the chain's settings. */
const suffixOf = ({ CHAIN = "" }: Settings) => CHAIN.toUpperCase();

async function checkEndpoints(answer: string, so: Settings): Promise<Checked> {
  const suffix = suffixOf(so);
  const urls = answer
    .split(",")
    .map((url) => url.trim())
    .filter(Boolean);
  if (urls.length === 0 || urls.some((url) => !/^https?:\/\/[^/]/.test(url) || !URL.canParse(url)))
    throw new Refused(`RPC_URL_${suffix} is one http(s) URL, or several with commas`);
  requireWritable(`RPC_URL_${suffix}`, answer);
  const facts: EndpointFacts[] = [];
  for (const url of urls)
    try {
      facts.push(await checkEndpoint(url));
    } catch (error) {
      throw new Refused(
        `RPC_URL_${suffix}: ${new URL(url).host} gives no answer: ${nodeWords((error as Error).message)}`,
      );
    }
  const ids = [...new Set(facts.map(({ chainId }) => chainId))];
  if (ids.length > 1)
    throw new Refused(`RPC_URL_${suffix}: the endpoints serve different chains, ${ids.join(" and ")}`);
  const [id = 0] = ids;
  const known = knownChains[so["CHAIN"] ?? ""];
  if (known && known.id !== id && localChainIds[so["CHAIN"] ?? ""] !== id)
    throw new Refused(`RPC_URL_${suffix}: the endpoint serves chain ${id}, and ${so["CHAIN"]} is chain ${known.id}`);
  const late = facts.find(({ age }) => age > 300);
  if (late && known?.id === id) throw new Refused(`RPC_URL_${suffix}: ${late.host} is ${late.age} s behind`);
  const every = (holds: (one: EndpointFacts) => boolean) => facts.every(holds);
  return {
    set: {
      [`RPC_URL_${suffix}`]: urls.join(","),
      ...(known?.id === id ? {} : { [`CHAIN_ID_${suffix}`]: String(id) }),
      ...(every(({ hashes, receipts }) => hashes === true && receipts === true)
        ? { [`VERIFY_${suffix}`]: "proofs" }
        : {}),
      ...(every(({ finalized }) => typeof finalized === "bigint") ? {} : { [`FINALITY_${suffix}`]: "256" }),
      ...(facts.length > 1 ? { [`RPC_QUORUM_${suffix}`]: "2" } : {}),
      [`START_BLOCK_${suffix}`]: String(facts[0]?.head ?? 0),
    },
    seen: [
      ...facts.map(({ host, chainId, head }) => `ok   ${host}: chain ${chainId}, block ${head}`),
      `note the index begins at this block: set START_BLOCK_${suffix}=0 to have the whole chain`,
      ...(facts.length > 1 ? [] : ["note one endpoint alone decides what is true; a second one can contradict it"]),
    ],
  };
}

async function checkWallet(answer: string, so: Settings): Promise<Checked> {
  const suffix = suffixOf(so);
  if (answer === "none") return { set: {}, seen: ["note nothing can be deployed or minted here"] };
  const isNew = answer === "new";
  const path = isNew ? join(so["MINTYARD_DATA_DIR"] ?? "", "keys", `relayer-${so["CHAIN"]}`) : resolve(answer);
  if (isNew && !existsSync(path)) {
    await mkdir(join(path, ".."), { recursive: true, mode: 0o700 });
    await writeWhole(path, `${generatePrivateKey()}\n`);
  }
  let wallet: Address;
  try {
    wallet = privateKeyToAccount((await readFile(path, "utf8")).trim() as Hex).address;
  } catch {
    throw new Refused(`RELAYER_KEY_FILE_${suffix}: ${path} is no file with 0x and 64 hex digits`);
  }
  const balance = BigInt((await ask(so, "eth_getBalance", [wallet, "latest"])) as string);
  return {
    set: { [`RELAYER_ADDRESS_${suffix}`]: wallet, [`RELAYER_KEY_FILE_${suffix}`]: path },
    seen: [
      `${balance > 0n ? "ok  " : "note"} wallet ${wallet} has ${formatEther(balance)} of the chain's coin${balance > 0n ? "" : ": send it some before you deploy the factory"}`,
      ...(isNew ? [`note its key is in ${path} and nowhere else: back it up`] : []),
    ],
  };
}

async function checkFactory(answer: string, so: Settings): Promise<Checked> {
  const suffix = suffixOf(so);
  if (answer === "" || answer === "later") return { set: {} };
  const [, factory, block] = /^(0x[0-9a-fA-F]{40})\s+(\d+)$/.exec(answer) ?? [];
  if (!factory || !block)
    throw new Refused(`FACTORY_${suffix} is an address and the block it was deployed in: 0x… 60000000`);
  if ((await ask(so, "eth_getCode", [factory, "latest"])) === "0x")
    throw new Refused(`FACTORY_${suffix}: there is no contract at ${factory} on this chain`);
  return {
    set: { [`FACTORY_${suffix}`]: factory, [`FACTORY_BLOCK_${suffix}`]: block },
    seen: ["ok   it is a contract"],
  };
}

async function ask(so: Settings, method: string, params: unknown[]): Promise<unknown> {
  const [url = ""] = (so[`RPC_URL_${suffixOf(so)}`] ?? "").split(",");
  const answer = await sendRpc(url, method, params, limits).catch((error: Error) => {
    throw new Refused(`RPC_URL_${suffixOf(so)}: ${nodeWords(error.message)}: answer again`);
  });
  if (answer.result === undefined) throw new Refused(`RPC_URL_${suffixOf(so)}: the endpoint does not answer ${method}`);
  return answer.result;
}

async function checkStore(answer: string, so: Settings): Promise<Checked> {
  if (answer === "" || answer === "folder") return { set: {}, seen: ["ok   the folder of MINTYARD_DATA_DIR"] };
  if (!answer.startsWith("s3://")) throw new Refused("IPFS_STORE is s3://bucket/prefix, or folder");
  const given = Object.entries(process.env).filter(([name, value]) => /^(AWS_|IPFS_S3_)/.test(name) && value);
  const set = { IPFS_STORE: answer, ...Object.fromEntries(given as [string, string][]) };
  try {
    const cars = openCars(loadConfig({ ...withoutChain(so), ...set }));
    await cars.check().finally(() => cars.close());
  } catch (error) {
    const words =
      error instanceof Error && error.cause instanceof Error ? error.cause.message : (error as Error).message;
    throw new Refused(
      `IPFS_STORE: ${words}. Address and credentials are read from AWS_ENDPOINT_URL_S3, AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of this shell: set them and start again, or answer folder`,
    );
  }
  return { set, seen: ["ok   it takes an object, gives a range of it and removes it"] };
}

function checkSignUp(answer: string): Checked {
  const word = answer || "off";
  if (!["on", "off"].includes(word)) throw new Refused("SIGN_UP is on or off");
  return { set: { SIGN_UP: word } };
}

/** The settings as the file has them, without CHAIN: the chain's name is in the other settings' names. */
export function withoutChain({ CHAIN: _, ...settings }: Settings): Settings {
  return settings;
}

/** Generated settings that nobody has to choose. */
export function drawSecrets(): Settings {
  return {
    NODE_ENV: "production",
    KEY_PEPPER: randomBytes(32).toString("base64"),
    METRICS_TOKEN: randomBytes(24).toString("hex"),
  };
}
