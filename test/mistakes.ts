/** The installation that a mistake is made in. */
export interface Place {
  dir: string;
  /** A login that owns its database and nothing else; `<login>_other` owns none, `<login>_reader` only reads. */
  login: string;
  databaseUrl: string;
  rpcUrl: string;
  takenPort: number;
  /** A node whose blocks are an hour ahead, and the text of a stored file. */
  lateRpcUrl: string;
  cid: string;
}

export interface Mistake {
  mistake: string;
  args: readonly string[];
  wrong: Record<string, string>;
  /** What `doctor` finds is its answer, by the check's name. */
  finding?: string;
}

const api = ["src/processes/api.ts"];
const worker = ["src/processes/worker.ts"];
const indexer = ["src/processes/indexer.ts", "--chain", "base"];
const command = (...words: string[]) => ["bin/mintyard.ts", ...words];
const doctor = command("doctor");
const key = `0x${"11".repeat(32)}`;

/** What operators get wrong: missing, wrong and swapped settings, missing rights and funds, the wrong chain. */
export function mistakes(place: Place): readonly Mistake[] {
  const { dir, login, databaseUrl, rpcUrl, takenPort } = place;
  const database = (change: (url: URL) => void) => {
    const url = new URL(databaseUrl);
    change(url);
    return { DATABASE_URL: url.href };
  };
  const as = (name: string) => database((url) => Object.assign(url, { username: name }));
  const factory = command("factory", "deploy", "--chain", "base");
  return [
    { mistake: "no `DATABASE_URL`", args: api, wrong: { DATABASE_URL: "" } },
    { mistake: "`DATABASE_URL` without a scheme", args: api, wrong: { DATABASE_URL: "localhost:5432/mintyard" } },
    { mistake: "PostgreSQL is not running", args: api, wrong: database((url) => Object.assign(url, { port: "1" })) },
    { mistake: "a wrong password", args: worker, wrong: database((url) => Object.assign(url, { password: "wrong" })) },
    {
      mistake: "a database that does not exist",
      args: api,
      wrong: database((url) => Object.assign(url, { pathname: "/nowhere" })),
    },
    { mistake: "a login without rights in the database", args: api, wrong: as(`${login}_other`) },
    { mistake: "a standby instead of the primary", args: api, wrong: as(`${login}_reader`) },
    {
      mistake: "a database that may fail over, without synchronous standbys",
      args: api,
      wrong: { DATABASE_FAILOVER: "on" },
    },
    {
      mistake: "`sslmode=require` with a server without TLS",
      args: api,
      wrong: database((url) => url.searchParams.set("sslmode", "require")),
    },
    { mistake: "no `KEY_PEPPER` in production", args: api, wrong: { KEY_PEPPER: "" } },
    {
      mistake: "a key made without `KEY_PEPPER`",
      args: command("keys", "create", "--name", "x"),
      wrong: { KEY_PEPPER: "", NODE_ENV: "" },
    },
    { mistake: "the API without `KEY_PEPPER`, outside production", args: api, wrong: { KEY_PEPPER: "", NODE_ENV: "" } },
    { mistake: "the port is taken", args: api, wrong: { PORT: String(takenPort) } },
    { mistake: "the port of the metrics is taken", args: worker, wrong: { METRICS_PORT: String(takenPort) } },
    { mistake: "a port that is no number", args: api, wrong: { PORT: "http" } },
    { mistake: "a port that does not exist", args: api, wrong: { PORT: "99999" } },
    { mistake: "`HOST` is not of this machine", args: api, wrong: { HOST: "192.0.2.1" } },
    { mistake: "`PUBLIC_URL` without a scheme", args: api, wrong: { PUBLIC_URL: "mint.example" } },
    {
      mistake: "a name in the place of a project's id",
      args: api,
      wrong: { WALLETCONNECT_PROJECT_ID: "my-mint-page" },
    },
    { mistake: "`MINTYARD_DATA_DIR` below a file", args: api, wrong: { MINTYARD_DATA_DIR: `${dir}/file/data` } },
    { mistake: "a chain without its id", args: api, wrong: { CHAIN_ID_BASE: "" } },
    { mistake: "the id of another chain", args: indexer, wrong: { CHAIN_ID_BASE: "8453" } },
    {
      mistake: "the id of another chain, in a command",
      args: factory,
      wrong: { CHAIN_ID_BASE: "8453", RELAYER_KEY_BASE: key },
    },
    { mistake: "an endpoint without a scheme", args: worker, wrong: { RPC_URL_BASE: "node.example:8545" } },
    {
      mistake: "an endpoint that is away, in a command",
      args: factory,
      wrong: { RPC_URL_BASE: "http://127.0.0.1:1", RELAYER_KEY_BASE: key },
    },
    {
      mistake: "an indexer with a websocket alone",
      args: indexer,
      wrong: { RPC_URL_BASE: rpcUrl.replace("http", "ws") },
    },
    {
      mistake: "an indexer for a chain without an endpoint",
      args: ["src/processes/indexer.ts", "--chain", "polygon"],
      wrong: {},
    },
    { mistake: "an indexer without its chain", args: ["src/processes/indexer.ts"], wrong: {} },
    { mistake: "more endpoints have to agree than there are", args: worker, wrong: { RPC_QUORUM_BASE: "2" } },
    {
      mistake: "another chain's block 0 is pinned",
      args: indexer,
      wrong: { GENESIS_HASH_BASE: `0x${"ab".repeat(32)}` },
    },
    { mistake: "no wallet pays for the factory", args: factory, wrong: {} },
    { mistake: "a wallet without funds", args: factory, wrong: { RELAYER_KEY_BASE: key } },
    {
      mistake: "a wallet's address instead of its key",
      args: worker,
      wrong: { RELAYER_KEY_BASE: `0x${"11".repeat(20)}` },
    },
    { mistake: "a key that is none", args: worker, wrong: { RELAYER_KEY_BASE: `0x${"00".repeat(32)}` } },
    { mistake: "a key file without its password", args: worker, wrong: { RELAYER_KEYSTORE_BASE: `${dir}/none.json` } },
    {
      mistake: "a key file that is not there",
      args: command("wallets"),
      wrong: {
        RELAYER_KEYSTORE_BASE: `${dir}/none.json`,
        RELAYER_KEYSTORE_PASSWORD_FILE_BASE: `${dir}/file`,
        FACTORY_BASE: `0x${"22".repeat(20)}`,
      },
    },
    {
      mistake: "a factory is named already",
      args: factory,
      wrong: { RELAYER_KEY_BASE: key, FACTORY_BASE: `0x${"22".repeat(20)}` },
    },
    { mistake: "the factory is no address", args: api, wrong: { FACTORY_BASE: "0x1234" } },
    { mistake: "an unknown scope of the index", args: indexer, wrong: { INDEX_SCOPE_BASE: "some" } },
    { mistake: "an unknown way to verify", args: indexer, wrong: { VERIFY_BASE: "maybe" } },
    { mistake: "a finality that is none", args: worker, wrong: { FINALITY_BASE: "soon" } },
    { mistake: "a budget that is no amount", args: worker, wrong: { BUDGET_CHAIN_HOUR_BASE: "1e3" } },
    {
      mistake: "two places to pin",
      args: worker,
      wrong: { PINATA_JWT: "a.b.c", KUBO_RPC_URL: "http://127.0.0.1:5001" },
    },
    { mistake: "a proxy by its name", args: api, wrong: { TRUSTED_PROXIES: "nginx" } },
    { mistake: "a standby that is no URL", args: api, wrong: { DATABASE_REPLICA_URLS: "standby:5432" } },
    { mistake: "an unknown log level", args: api, wrong: { LOG_LEVEL: "verbose" } },
    { mistake: "failpoints in production", args: worker, wrong: { MINTYARD_CHAOS_CRASH: "send-after:1" } },
    {
      mistake: "a share of traces above one",
      args: api,
      wrong: { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318", OTEL_TRACES_SAMPLER_ARG: "7" },
    },
    { mistake: "a restore from a folder that holds no backup", args: command("restore", `${dir}/data`), wrong: {} },
    { mistake: "a restore into a database that is in use", args: command("restore", `${dir}/held`), wrong: {} },
    { mistake: "a second backup into one folder", args: command("backup", `${dir}/held`), wrong: {} },
    {
      mistake: "a backup by a login without rights",
      args: command("backup", `${dir}/new`),
      wrong: as(`${login}_other`),
    },
    {
      mistake: "a restore of an older version's backup into a database that this version has used",
      args: command("restore", `${dir}/older`),
      wrong: database((url) => Object.assign(url, { pathname: `/${login}_used` })),
    },
    {
      mistake: "a restore of a newer version's backup",
      args: command("restore", `${dir}/newer`),
      wrong: database((url) => Object.assign(url, { pathname: `/${login}_used` })),
    },
    {
      mistake: "an older version on a database that a newer one changed for good",
      args: api,
      wrong: database((url) => Object.assign(url, { pathname: `/${login}_newer` })),
    },
    {
      mistake: "a full disk",
      args: command("export", place.cid, `${dir}/full`),
      wrong: {},
    },
    {
      mistake: "a disk that is nearly full",
      args: doctor,
      wrong: { MIN_FREE_DISK_BYTES: "900000000000000" },
      finding: "D1",
    },
    {
      mistake: "a clock that is an hour off",
      args: doctor,
      wrong: { NODE_OPTIONS: `--import=${import.meta.dirname}/setup/skewed-clock.mjs` },
      finding: "T1",
    },
    {
      mistake: "a node, or the database, whose clock is an hour off",
      args: doctor,
      wrong: { RPC_URL_BASE: place.lateRpcUrl },
      finding: "T2",
    },
    {
      mistake: "`DATABASE_URL` and `RPC_URL_…` swapped",
      args: api,
      wrong: { DATABASE_URL: rpcUrl, RPC_URL_BASE: databaseUrl },
    },
    { mistake: "a database instead of an endpoint", args: worker, wrong: { RPC_URL_BASE: databaseUrl } },
    {
      mistake: "`KEY_PEPPER` and `RELAYER_KEY_…` swapped",
      args: worker,
      wrong: { KEY_PEPPER: key, RELAYER_KEY_BASE: "a long text of this test" },
    },
    {
      mistake: "`FACTORY_…` and `RELAYER_ADDRESS_…` swapped",
      args: doctor,
      wrong: { FACTORY_BASE: `0x${"22".repeat(20)}` },
      finding: "F1",
    },
    {
      mistake: "an encrypted key file instead of a plain one",
      args: worker,
      wrong: { RELAYER_KEY_FILE_BASE: `${dir}/held/manifest.json` },
    },
    { mistake: "an analyst without a name", args: command("analyst", "create"), wrong: {} },
    {
      mistake: "an analyst, and no right to make roles",
      args: command("analyst", "create", "--name", "ada"),
      wrong: {},
    },
    { mistake: "an unknown plan", args: command("accounts", "create", "--tier", "gold"), wrong: {} },
    { mistake: "an unknown command", args: command("walets"), wrong: {} },
    { mistake: "an unknown deployment", args: command("requests", "show", "0x12"), wrong: {} },
    { mistake: "a chain that is not configured", args: command("reindex", "--chain", "polygn"), wrong: {} },
  ];
}
