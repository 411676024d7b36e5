import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { parseEther, toHex } from "viem";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { afterAll, beforeAll, expect, onTestFailed, test, vi } from "vitest";
import { startPostgres } from "../../src/embedded/postgres.ts";
import { freePorts } from "../../src/free-port.ts";
import { rpc } from "../chaos/fleet.ts";
import { patient, slowness } from "../setup/wait.ts";
import { documented } from "./documented.ts";
import { runLine } from "./installation.ts";
import { outputOf, Site } from "./site.ts";
import { SteadyReader } from "./steady-reader.ts";

// The README's "Deploying for real", line by line: one installation from an empty database to its copy elsewhere.
// The tests are its steps and need each other, in this order.

vi.setConfig({ testTimeout: 600_000 * slowness });

let site: Site;
beforeAll(async () => {
  site = await Site.start();
});
afterAll(() => site?.stop());

/** What a reader was told instead of its page, in words. */
async function answersOf(reader: SteadyReader): Promise<string[]> {
  return (await reader.stop()).map((reply) => JSON.stringify(reply));
}

/** A step of the installation; without the ones before it there is nothing to try. */
function step(name: string, work: () => Promise<void>): void {
  test(name, async () => {
    if (failed !== "") throw new Error(`not tried: "${failed}" failed`);
    failed = name;
    onTestFailed(() => {
      for (const [process, output] of site.installation.output) console.log(`${process}: ${output.slice(-4_000)}`);
    });
    await work();
    failed = "";
  });
}
let failed = "";

step("step 1: a login that owns its database and nothing else, an endpoint, production, a pepper", async () => {
  await site.asAdministrator(
    "postgres",
    "CREATE ROLE mintyard_login LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD 'x'",
  );
  await site.asAdministrator("postgres", "CREATE DATABASE first OWNER mintyard_login");
  Object.assign(site.settings, {
    [documented("DATABASE_URL")]: `postgres://mintyard_login:x@127.0.0.1:${site.postgresPort}/first`,
    [documented("RPC_URL_POLYGON")]: site.polygon.proxy.url,
    [documented("KEY_PEPPER")]: outputOf(await runLine(documented("openssl rand -base64 32"), {})).trim(),
    [documented("MINTYARD_DATA_DIR")]: join(site.dir, "data"),
    // Blocks that a launch waits for, of which there is one a second here.
    [documented("CONFIRMATIONS_POLYGON")]: "2",
    [documented("TRUSTED_PROXIES")]: "127.0.0.1",
  });
  expect(documented("NODE_ENV=production")).toBe("NODE_ENV=production");
  site.settings["NODE_ENV"] = "production";
});

step("step 2: a funded wallet and a factory of its own", async () => {
  const wallet = generatePrivateKey();
  await rpc(site.polygon.nodeUrl, "anvil_setBalance", [privateKeyToAddress(wallet), toHex(parseEther("100"))]);
  const printed = await site.mintyard(
    "npm run -s mintyard -- factory deploy --chain polygon",
    {},
    {
      ...site.settings,
      [documented("RELAYER_KEY_<CHAIN>", { "<CHAIN>": "POLYGON" })]: wallet,
    },
  );
  const lines = outputOf(printed).trim().split("\n");
  // Nothing but the two lines: they go into a file as they are.
  expect(lines).toEqual([
    expect.stringMatching(/^FACTORY_POLYGON=0x/),
    expect.stringMatching(/^FACTORY_BLOCK_POLYGON=\d+$/),
  ]);
  const factory = Object.fromEntries(lines.map((line) => line.split("=")));
  Object.assign(site.settings, factory);
  // The wallet's key belongs to the signer alone.
  await writeFile(join(site.dir, "relayer-key"), wallet, { mode: 0o600 });
  const token = randomBytes(32).toString("base64");
  Object.assign(site.signerSettings, factory, {
    NODE_ENV: "production",
    [documented("RELAYER_KEY_FILE_POLYGON")]: join(site.dir, "relayer-key"),
    [documented("SIGNER_LISTEN")]: `unix:${join(site.dir, "signer.sock")}`,
    [documented("SIGNER_TOKEN")]: token,
    SIGNER_ADMIN_TOKEN: randomBytes(32).toString("base64"),
    MINTYARD_DATA_DIR: join(site.dir, "signer-data"),
  });
  Object.assign(site.workerSettings, {
    [documented("SIGNER_URL")]: `unix:${join(site.dir, "signer.sock")}`,
    SIGNER_TOKEN: token,
  });
  site.settings[documented("RELAYER_ADDRESS_POLYGON")] = privateKeyToAddress(wallet);
});

step("step 3: a key for a client", async () => {
  const printed = outputOf(await site.mintyard("npm run -s mintyard -- keys create --tier growth --name studio"));
  [site.key = ""] = /mty_\w+/.exec(printed) ?? [];
  expect(site.key).toMatch(/^mty_/);
});

step("step 4: an administrator's script once, then a login for an analyst", async () => {
  const line = documented("npm run -s mintyard -- analyst sql | psql -U postgres -d mintyard");
  const { hostname, port, password } = new URL(site.postgres.url);
  if (!spawnSync("psql", ["--version"]).error)
    outputOf(
      await runLine(`set -e; ${line.replace("-d mintyard", "-d first -v ON_ERROR_STOP=1 -q")}`, {
        ...site.settings,
        PGHOST: hostname,
        PGPORT: port,
        PGPASSWORD: decodeURIComponent(password),
      }),
    );
  else await site.asAdministrator("first", outputOf(await runLine(line.split(" | ")[0] ?? "", site.settings)));
  const printed = outputOf(await site.mintyard("npm run -s mintyard -- analyst create --name ada"));
  site.analyst = /postgres(?:ql)?:\/\/[^"\s]+/.exec(printed)?.[0] ?? "";
  expect(site.analyst).toContain(`:${site.postgresPort}/first`);
});

step("step 5: each process alone; deploy, mint, read through both APIs, SQL as an analyst", async () => {
  const service = () => site.settings;
  site.installation.start("signer", documented("npm run signer"), () => site.signerSettings);
  for (const [at, port] of site.apiPorts.entries())
    site.installation.start(`api-${at + 1}`, documented("npm run api"), () => ({
      ...site.settings,
      PORT: String(port),
    }));
  site.installation.start("worker", documented("npm run worker"), () => ({ ...service(), ...site.workerSettings }));
  site.installation.start("indexer-polygon", documented("npm run indexer -- --chain polygon"), service);
  await site.untilReady();
  const one = await site.launchAndMint("polygon", site.polygon);
  const { body } = await site
    .client()
    .graphql(`query ($address: Address!) { collection(chain: "polygon", address: $address) { name } }`, {
      address: one.address,
    });
  expect(JSON.stringify(body)).toContain("Deployed for real 0");
  const reader = new pg.Client({ connectionString: site.analyst });
  await reader.connect();
  try {
    const { rows } = await reader.query(
      "SELECT owner, amount::int FROM holdings WHERE chain_id = 137 AND contract = $1",
      [one.address.toLowerCase()],
    );
    expect(rows).toEqual([{ owner: one.owner.account.address.toLowerCase(), amount: 1 }]);
    await expect(reader.query("SELECT * FROM service.account")).rejects.toThrow("permission denied");
  } finally {
    await reader.end();
  }
});

step("each process is killed once, under reads that never fail, and the next launch works", async () => {
  for (const name of ["signer", "api-1", "api-2", "worker", "indexer-polygon"]) {
    const reader = new SteadyReader(`${site.front.url}/v0/nfts?chain=polygon`, site.key);
    await site.installation.kill(name);
    const one = await site.launch("polygon", site.polygon);
    expect(await answersOf(reader), name).toEqual([]);
    expect(reader.replies.length).toBeGreaterThan(5);
    await site.untilReady();
    await one.mint();
    await site.untilOwned(one, ["0"]);
  }
});

step("a database that is away for 10 seconds: clean 503s, no process is started again but indexers", async () => {
  const names = ["signer", "api-1", "api-2", "worker"];
  const starts = names.map((name) => site.installation.starts(name));
  const reader = new SteadyReader(`${site.front.url}/v0/nfts?chain=polygon`, site.key);
  await sleep(1_000);
  await site.postgres.stop();
  await sleep(10_000);
  site.postgres = await startPostgres(join(site.dir, "postgres"), site.postgresPort);
  await site.untilReady();
  await site.launchAndMint("polygon", site.polygon);
  const refused = await reader.stop();
  expect(refused.length).toBeGreaterThan(20);
  for (const { status, retryAfter, body } of refused) {
    expect([status, retryAfter]).toEqual([503, expect.stringMatching(/^\d+$/)]);
    expect(body).toMatchObject({ response: "NOK", error: expect.anything() });
  }
  expect(names.map((name) => site.installation.starts(name))).toEqual(starts);
});

step(
  "a node that is away for 30 seconds: /status says so, reads go on, what was asked for meanwhile is done after",
  async () => {
    const reader = new SteadyReader(`${site.front.url}/v0/nfts?chain=polygon`, site.key);
    site.polygon.proxy.goDown();
    const downAt = Date.now();
    await expect
      .poll(() => site.statusOf("polygon"), { ...patient, interval: 500 })
      .toMatchObject({ lagBlocks: null, troubles: expect.arrayContaining(["nodes_unreachable"]) });
    await sleep(Math.max(0, downAt + 30_000 - Date.now()));
    site.polygon.proxy.heal();
    expect(await answersOf(reader)).toEqual([]);
    await site.launchAndMint("polygon", site.polygon);
    await expect
      .poll(async () => (await site.statusOf("polygon"))["troubles"], { ...patient, interval: 500 })
      .toEqual([]);
  },
);

step("the wallet is changed step by step, while clients read and deploy", async () => {
  const { settings, signerSettings, installation, polygon } = site;
  const old = settings["RELAYER_ADDRESS_POLYGON"] ?? "";
  const fresh = generatePrivateKey();
  const wallet = privateKeyToAddress(fresh);
  const factory = settings["FACTORY_POLYGON"] ?? "";
  const restartAll = async () => {
    for (const process of ["signer", "worker", "api-1", "api-2"]) {
      await installation.restart(process);
      await site.untilReady();
    }
  };
  const wallets = async () => outputOf(await site.mintyard("npm run -s mintyard -- wallets"));
  const reader = new SteadyReader(`${site.front.url}/v0/nfts?chain=polygon`, site.key);
  // Steps 1 to 3: the new key behind the old one.
  await rpc(polygon.nodeUrl, "anvil_setBalance", [wallet, toHex(parseEther("100"))]);
  const keyFile = join(site.dir, "relayer-key");
  const oldKey = await readFile(keyFile, "utf8");
  await writeFile(keyFile, `${oldKey},${fresh}`);
  settings["RELAYER_ADDRESS_POLYGON"] =
    documented("RELAYER_ADDRESS_POLYGON=OLD,NEW", { OLD: old, NEW: wallet }).split("=")[1] ?? "";
  await restartAll();
  await expect.poll(wallets, patient).toMatch(new RegExp(`${wallet}.*WITHOUT ITS ROLE`, "i"));
  await expect
    .poll(() => site.statusOf("polygon"), patient)
    .toMatchObject({ troubles: expect.arrayContaining([documented("wallet_without_role")]) });
  await site.launch("polygon", polygon);
  // Steps 4 and 5: the old wallet is the factory's administrator and signs.
  const [adminToken = ""] = [documented("SIGNER_ADMIN_TOKEN")].map((name) => signerSettings[name] ?? "");
  outputOf(
    await site.mintyard(
      "mintyard wallets grant",
      { "mintyard wallets": "npm run -s mintyard -- wallets" },
      { ...settings, ...site.workerSettings, SIGNER_ADMIN_TOKEN: adminToken },
    ),
  );
  await expect.poll(async () => (await site.statusOf("polygon"))["troubles"], patient).toEqual([]);
  // Steps 6 and 7: the old one stops, ends what it has sent, and leaves the settings.
  outputOf(
    await site.mintyard("mintyard wallets halt OLD", {
      "mintyard wallets": "npm run -s mintyard -- wallets",
      OLD: old,
    }),
  );
  await expect.poll(wallets, patient).toMatch(new RegExp(`${old}.* 0 not mined`, "i"));
  await writeFile(keyFile, fresh);
  settings["RELAYER_ADDRESS_POLYGON"] = wallet;
  await restartAll();
  expect(await answersOf(reader)).toEqual([]);
  const one = await site.launchAndMint("polygon", polygon);
  const sent = await rpc<{ from: string; to: string }>(polygon.nodeUrl, "eth_getTransactionByHash", [one.hash]);
  expect([sent.from, sent.to]).toEqual([wallet.toLowerCase(), factory.toLowerCase()]);
});

step("a second chain: its settings, its factory, its indexer; the first one goes on", async () => {
  const wallet = generatePrivateKey();
  await rpc(site.base.nodeUrl, "anvil_setBalance", [privateKeyToAddress(wallet), toHex(parseEther("100"))]);
  Object.assign(site.settings, { RPC_URL_BASE: site.base.proxy.url, CONFIRMATIONS_BASE: "2" });
  const [name = "", id = ""] = documented("CHAIN_ID_BASE=8453").split("=");
  site.settings[name] = id;
  const printed = outputOf(
    await site.mintyard(
      "npm run -s mintyard -- factory deploy --chain polygon",
      { polygon: "base" },
      // The key is given to this command alone.
      { ...site.settings, RELAYER_KEY_BASE: wallet },
    ),
  );
  const factory = Object.fromEntries(
    printed
      .trim()
      .split("\n")
      .map((line) => line.split("=")),
  );
  await writeFile(join(site.dir, "relayer-key-base"), wallet, { mode: 0o600 });
  Object.assign(site.settings, factory, { RELAYER_ADDRESS_BASE: privateKeyToAddress(wallet) });
  Object.assign(site.signerSettings, factory, {
    [name]: id,
    RELAYER_KEY_FILE_BASE: join(site.dir, "relayer-key-base"),
  });
  const reader = new SteadyReader(`${site.front.url}/v0/nfts?chain=polygon`, site.key);
  for (const process of ["signer", "worker", "api-1", "api-2"]) {
    await site.installation.restart(process);
    await site.untilReady();
  }
  site.installation.start(
    "indexer-base",
    documented("npm run indexer -- --chain polygon", { polygon: "base" }),
    () => site.settings,
  );
  await site.launchAndMint("base", site.base);
  expect(await answersOf(reader)).toEqual([]);
  await site.launchAndMint("polygon", site.polygon);
});

step(
  "a backup, restored on another server, with which the service goes on; the index is built from the chains",
  async () => {
    const backup = join(site.dir, "backup");
    const line = "npm run -s mintyard -- backup /backups/2026-01-31";
    outputOf(await site.mintyard(line, { "/backups/2026-01-31": backup }));
    await site.installation.stop();
    const [port = 0] = await freePorts(1);
    await site.postgres.stop();
    site.postgres = await startPostgres(join(site.dir, "elsewhere"), port);
    await site.asAdministrator(
      "postgres",
      "CREATE ROLE mintyard_login LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD 'y'",
    );
    await site.asAdministrator("postgres", "CREATE DATABASE second OWNER mintyard_login");
    site.settings["DATABASE_URL"] = `postgres://mintyard_login:y@127.0.0.1:${port}/second`;
    site.settings["MINTYARD_DATA_DIR"] = join(site.dir, "data-elsewhere");
    outputOf(
      await site.mintyard("npm run -s mintyard -- restore /backups/2026-01-31", { "/backups/2026-01-31": backup }),
    );
    await site.asAdministrator("second", outputOf(await site.mintyard("npm run -s mintyard -- analyst sql")));
    for (const name of ["signer", "worker", "indexer-polygon", "indexer-base", "api-1", "api-2"])
      site.installation.resume(name);
    await site.untilReady();
    // What was launched before is there, to the last token, and the next launch is a new collection.
    for (const one of site.launched) await site.untilOwned(one, one.minted);
    const one = await site.launch("polygon", site.polygon);
    expect(site.launched.slice(0, -1).map(({ address }) => address)).not.toContain(one.address);
    await one.mint();
    await site.untilOwned(one, ["0"]);
  },
);

step("doctor finds nothing, and names the chains it looked at", async () => {
  const said = outputOf(
    await site.mintyard("npm run -s mintyard -- doctor", {}, { ...site.settings, ...site.workerSettings }),
  );
  expect(said).toContain("all is well");
  for (const chain of ["polygon", "base"]) expect(said).toContain(chain);
});
