import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadConfig, secretsOf } from "../../src/config/config.ts";
import { loadSignerConfig } from "../../src/signing/signer-config.ts";

const env = {
  IPFS_STORE: "s3://bucket",
  DATABASE_URL: "postgres://a:b@127.0.0.1/x",
  RPC_URL_GOERLI: "http://127.0.0.1:9",
  CHAIN_ID_GOERLI: "31337",
};

test("production does not start without key material of its own, and says what to do", () => {
  expect(() => loadConfig({ ...env, NODE_ENV: "production" })).toThrow(/^KEY_PEPPER: missing; .*openssl rand/);
  expect(loadConfig({ ...env, NODE_ENV: "production", KEY_PEPPER: "long" }).keyPepper).toBe("long");
  expect(loadConfig(env).keyPepper).toBe("mintyard-embedded");
});

test("a wrong list of replicas is named, and its passwords are not", () => {
  const urls = "postgres://a:secret-one@one/x, postgresql://a:secret-two@two/x";
  expect(loadConfig({ ...env, DATABASE_REPLICA_URLS: urls }).replicas).toEqual({
    urls: urls.split(", "),
    maxLagSeconds: 5,
  });
  for (const wrong of [`${urls},three`, "http://a:secret-one@one/x"])
    expect(() => loadConfig({ ...env, DATABASE_REPLICA_URLS: wrong })).toThrow(/^DATABASE_REPLICA_URLS: (?!.*secret)/);
});

test("a chain's coin is called what its operator says, else what the chain calls it", () => {
  const coinOf = (more: Record<string, string>) => loadConfig({ ...env, ...more }).chains[0]?.coin;
  expect(coinOf({})).toBe("ETH");
  expect(coinOf({ CHAIN_ID_GOERLI: "56" })).toBe("BNB");
  expect(coinOf({ COIN_SYMBOL_GOERLI: "HYPE" })).toBe("HYPE");
  const wrong = () => coinOf({ COIN_SYMBOL_GOERLI: "<b>" });
  expect(wrong).toThrow("COIN_SYMBOL_GOERLI: a symbol of 1 to 11 letters and digits is wanted");
});

test("a project of WalletConnect is named as its page shows it, and anything else is refused", () => {
  const projectOf = (text: string) => loadConfig({ ...env, WALLETCONNECT_PROJECT_ID: text }).walletConnectProject;
  expect(["", " ", "0123456789ABCDEF0123456789abcdef"].map(projectOf)).toEqual([
    ...[null, null],
    "0123456789abcdef0123456789abcdef",
  ]);
  for (const wrong of ["off", "0123", `0x${"1".repeat(30)}`, "g".repeat(32), "1".repeat(33)])
    expect(() => projectOf(wrong)).toThrow(/^WALLETCONNECT_PROJECT_ID: 32 hex digits are wanted/);
});

/** Every setting that is on or off, and what of the configuration it decides. */
const flags: Record<string, (config: ReturnType<typeof loadConfig>) => unknown> = {
  SIGN_UP: ({ signUpsPerHour }) => signUpsPerHour > 0,
  RATE_LIMITS: ({ rateLimits }) => rateLimits,
  REQUEST_LOG: ({ requestLog }) => requestLog,
  DATABASE_FAILOVER: ({ databaseFailover }) => databaseFailover,
  DATABASE_ROW_SECURITY: ({ rowSecurity }) => rowSecurity,
  IPFS_GATEWAY_FETCH: ({ ipfs }) => ipfs.gatewayFetch,
  IPFS_S3_PATH_STYLE: ({ ipfs }) => ipfs.store?.pathStyle,
  HEAVY_READS_LOW_PRIORITY: ({ heavyReadsLowPriority }) => heavyReadsLowPriority,
  METADATA_ALLOW_PRIVATE: ({ allowPrivateFetch }) => allowPrivateFetch,
  WEBHOOKS_ALLOW_PRIVATE: ({ webhooks }) => webhooks.allowPrivate,
  WEBHOOK_HANDSHAKE: ({ webhooks }) => webhooks.handshake,
  PAID_TIER_ONLY_GOERLI: ({ chains }) => chains[0]?.paidTierOnly,
  LOCAL_GOERLI: ({ chains }) => chains[0]?.local,
  SIGN_ROLES_GOERLI: ({ chains }) => chains[0]?.relay.signsRoles,
};

test("no setting that is on or off is missing above", () => {
  const root = join(import.meta.dirname, "../..");
  const sources = globSync(["src/config/*.ts", "src/signing/signer-config.ts"], { cwd: root });
  const read = sources.flatMap((file) => [
    ...readFileSync(join(root, file), "utf8").matchAll(/\breadSwitch\(env, ["`]([A-Z0-9_]+)/g),
  ]);
  const names = new Set(read.map(([, name = ""]) => name.replace(/_$/, "_GOERLI")));
  expect([...names].sort()).toEqual(Object.keys(flags).sort());
});

test("a setting that is on or off takes either pair of words, and no other", () => {
  for (const [name, decided] of Object.entries(flags)) {
    for (const word of ["on", "true", " true "])
      expect([name, word, decided(loadConfig({ ...env, [name]: word }))]).toEqual([name, word, true]);
    for (const word of ["off", "false", "off\r"])
      expect([name, word, decided(loadConfig({ ...env, [name]: word }))]).toEqual([name, word, false]);
    expect([name, decided(loadConfig({ ...env, [name]: " " }))]).toEqual([name, decided(loadConfig(env))]);
    for (const word of ["no", "0", "OFF", "enabled"])
      expect(() => loadConfig({ ...env, [name]: word })).toThrow(
        `${name}: "${word}" is no such word; on, off, true or false is wanted`,
      );
  }
});

test("an unknown word of any setting ends the start and names the words", () => {
  const production = "production, development or test is wanted";
  for (const word of ["prod", "Production", "staging"])
    expect(() => loadConfig({ ...env, NODE_ENV: word, KEY_PEPPER: "long" })).toThrow(
      `NODE_ENV: "${word}" is no such word; ${production}`,
    );
  const levels = /^LOG_LEVEL: "verbose" is no such word; fatal, error, .* or silent is wanted$/;
  expect(() => loadConfig({ ...env, LOG_LEVEL: "verbose" })).toThrow(levels);
  expect(() => loadConfig({ ...env, VERIFY_GOERLI: "none" })).toThrow(/^VERIFY_GOERLI: "none" .*proofs, logs or off/);
  expect(() => loadConfig({ ...env, FINALITY_GOERLI: "soon" })).toThrow(
    'FINALITY_GOERLI: "soon" is no such word; tag or a number of blocks is wanted',
  );
  for (const scope of ["some", "All", "0x1234", "all,factory"])
    expect(() => loadConfig({ ...env, INDEX_SCOPE_GOERLI: scope })).toThrow(
      `INDEX_SCOPE_GOERLI: "${scope}" is no such word; all, factory or a list of addresses is wanted`,
    );
  const signer = {
    ...{ RELAYER_KEY_POLYGON: `0x${"1".repeat(64)}`, SIGNER_TOKEN: "x".repeat(32), SIGNER_ADMIN_TOKEN: "x".repeat(32) },
  };
  expect(loadSignerConfig(signer).logLevel).toBe("info");
  expect(() => loadSignerConfig({ ...signer, LOG_LEVEL: "verbose" })).toThrow(levels);
  expect(() => loadSignerConfig({ ...signer, LOCAL_POLYGON: "yes" })).toThrow(/^LOCAL_POLYGON: "yes" /);
  expect(() => loadSignerConfig({ ...signer, SIGNER_SOCKET_MODE: "0660" })).toThrow(/600 or 660 is wanted$/);
});

test("a setting that is a word, or else something else, takes both", () => {
  const chainOf = (more: Record<string, string>) => loadConfig({ ...env, ...more }).chains[0];
  const finality = (text: string) => chainOf({ FINALITY_GOERLI: text })?.relay.finality;
  expect(["", "tag", " 0 ", "256"].map(finality)).toEqual(["tag", "tag", 0, 256]);
  const scope = (text: string) => chainOf({ INDEX_SCOPE_GOERLI: text })?.indexScope;
  const [one, other] = [`0x${"Ab".repeat(20)}`, `0x${"1".repeat(40)}`];
  expect(["", "all", "factory", `${one} , ${other}`].map(scope)).toEqual([
    ...["all", "all", "factory"],
    [other, one.toLowerCase()],
  ]);
});

test("an empty word is the default, also where that is not off", () => {
  const ethereum = { DATABASE_URL: env.DATABASE_URL, RPC_URL_ETHEREUM: "http://127.0.0.1:9" };
  expect(loadConfig({ ...ethereum, PAID_TIER_ONLY_ETHEREUM: "" }).chains[0]?.paidTierOnly).toBe(true);
});

test("a secret in the wrong line is not shown", () => {
  expect(() => loadConfig({ ...env, SIGN_UP: "a-secret-that-belongs-elsewhere" })).toThrow(/^SIGN_UP: "a-secret-tha…"/);
});

test("an endpoint's user and password are taken where they can be sent, and are in no log", () => {
  const { chains, ...config } = loadConfig({ ...env, RPC_URL_GOERLI: "https://us%40er:long%20secret@node.example/v1" });
  expect(chains[0]?.rpcUrls).toEqual(["https://us%40er:long%20secret@node.example/v1"]);
  expect(secretsOf({ chains, ...config })).toEqual(expect.arrayContaining(["long%20secret", "long secret"]));
  for (const endpoint of ["wss://user:secret@node.example", "ws://user@node.example", "ws://:secret@node.example"])
    expect(() => loadConfig({ ...env, RPC_URL_GOERLI: `https://node.example,${endpoint}` })).toThrow(
      /^RPC_URL_GOERLI: a user and a password work in http\(s\) URLs alone(?!.*secret)/,
    );
  for (const wrong of ["http://", "https://user:pa ss@:80:80", "node.example"])
    expect(() => loadConfig({ ...env, RPC_URL_GOERLI: wrong })).toThrow(
      "RPC_URL_GOERLI: each entry must be an http(s) or ws(s) URL",
    );
});
