import { spawnSync } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import { afterEach, describe, expect, test } from "vitest";
import { clearExpired } from "../../src/collections/clear-expired.ts";
import { ApiServer } from "../setup/api-server.ts";
import { createTestDatabase } from "../setup/database.ts";
import { send } from "../setup/send.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

let api: ApiServer | undefined;
afterEach(async () => {
  await api?.close();
  api = undefined;
});

async function upload(server: ApiServer, key: string, size: number) {
  const body = new FormData();
  body.append("file", new Blob([new Uint8Array(randomBytes(size))]), "a.bin");
  return await send(`${server.url}/v0/files`, { key, body });
}

const wallet = "0x25D5bf305aA1FbD778B05Aaa454405D0094Cfa96";
const collection = {
  ...{ chain: "goerli", name: "Full", symbol: "TSK", max_supply: 100, mint_price: 0.01, tokens_per_mint: 10 },
  ...{ owner_address: wallet, treasury_address: wallet, royalties_share: 500, royalties_address: wallet },
  ...{ public_mint_start: "2022-07-12T11:30:48+00:00", presale_mint_start: "2022-07-11T11:30:48+00:00" },
  ...{ metadata_updatable: true, presale_whitelisted_addresses: [wallet] },
  prereveal_token_uri: "ipfs://bafkreiepfwroxy47wzvllrfyu5dwecz6blkiztzmc3r3frryasdve74zii",
};

describe("storage that is nearly full", () => {
  test.each([
    ["data_folder", { MIN_FREE_DISK_BYTES: "900000000000000" }],
    ["database", { DATABASE_MAX_BYTES: "1" }],
  ] as const)("%s: writes that keep more are refused with 507, and reads go on", async (place, env) => {
    const relayer = { FACTORY_GOERLI: `0x${"fa".repeat(20)}`, RELAYER_KEY_GOERLI: randomBytes(32).toString("hex") };
    api = await ApiServer.start({ RATE_LIMITS: "off", ...relayer, ...env });
    const { key } = await api.account("growth");
    const refused = { status: 507, body: { error: { code: "storage_full" } } };
    expect(await upload(api, key, 10)).toMatchObject(refused);
    expect(await api.send("POST", "/v0/signup", null, { name: "late" })).toMatchObject(refused);
    const deployed = await api.send("POST", "/v0/contracts/collections", key, collection);
    expect(deployed, JSON.stringify(deployed.body)).toMatchObject(refused);
    const sign = `mutation { deployCollection(mode: SIGN, input: { chain: "goerli", name: "Full", symbol: "F", maxSupply: "9",
      tokensPerMint: "1", mintPriceWei: "0", owner: "${wallet}", treasury: "${wallet}",
      publicMintStart: "2030-01-01T00:00:00Z" }) { __typename } }`;
    expect((await api.graphql(key, sign)).body.errors).toMatchObject([{ extensions: { code: "storage_full" } }]);
    expect(await readdir(api.dataDir)).toEqual([]);
    expect((await api.send("GET", "/v0/me/settings", key)).status).toBe(200);
    const ready = await api.send("GET", "/readyz", null);
    expect([ready.status, ready.body.degraded, ready.body.reasons]).toEqual([
      200,
      true,
      expect.arrayContaining([`storage_full: ${place}`]),
    ]);
    expect((await api.send("GET", "/readyz?strict", null)).status).toBe(503);
    expect((await api.send("GET", "/metrics", null)).body).toMatch(
      new RegExp(`mintyard_storage_full\\{place="${place}",process="api"\\} 1`),
    );
  });

  test("what free accounts keep together is bounded; other plans go on", async () => {
    api = await ApiServer.start({ RATE_LIMITS: "off", FREE_ACCOUNTS_MAX_BYTES: "1000" });
    const [first, second, paying] = [await api.account(), await api.account(), await api.account("growth")];
    // Kept before this process measures for the first time; a measurement is used for five seconds.
    await api.database.pool.query("INSERT INTO service.account_storage (account_id, bytes) VALUES ($1, 2000)", [
      first.id,
    ]);
    expect((await upload(api, second.key, 1)).status).toBe(507);
    expect((await api.send("POST", "/v0/signup", null, { name: "late" })).status).toBe(507);
    expect((await upload(api, paying.key, 2_000)).status).toBe(200);
  });
});

const mount = (size: string, folder: string, command: string) => [
  ...["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"],
  `mount -t tmpfs -o size=${size} none "${folder}" && ${command}`,
];
const [probe = "", ...probeArguments] = mount("1m", "/tmp", "true");
const canMount = spawnSync(probe, probeArguments).status === 0;

test.skipIf(!canMount)("a disk that fills in the middle of an upload keeps nothing of it, and says so", async () => {
  const database = await createTestDatabase();
  const folder = temporaryFolder();
  try {
    const script = new URL("./fill-disk.ts", import.meta.url).pathname;
    const [command = "", ...rest] = mount(
      "8m",
      folder,
      `"${process.execPath}" "${script}" "${folder}" "${database.url}"`,
    );
    const { stdout, stderr, status } = spawnSync(command, rest, { encoding: "utf8" });
    expect([status, stderr.includes("Error:") ? stderr : ""]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toEqual({
      refused: { code: "storage_full", status: 507 },
      left: [],
      // What fits is stored afterwards: the failed one has given its space back.
      stored: 4_000_000,
    });
    const { rows } = await database.pool.query("SELECT count(*)::int AS cars FROM service.car");
    expect(rows).toEqual([{ cars: 1 }]);
  } finally {
    await database.drop();
  }
});

describe("what an account keeps in the database", () => {
  const prepared = (tenant: string, columns = "", values = "") => ({
    text: `INSERT INTO service.self_deployment (id, tenant_id, chain_id, req_hash, payload, owner, init_code_hash,
        init_code_bytes, scanned_to${columns})
      SELECT id, $2, 5, sha256(id::text::bytea), '{}', decode(repeat('aa', 20), 'hex'), sha256(id::text::bytea), 1, 1${values}
      FROM (SELECT $1::uuid AS id) AS one`,
    values: [randomUUID(), tenant],
  });
  const list = (tenant: string, entries: string[], id: string = randomUUID()) => ({
    text: "INSERT INTO service.allowlist (id, tenant_id, root, entries) VALUES ($1, $2, decode(repeat('aa', 32), 'hex'), $3)",
    values: [id, tenant, entries],
  });

  test("prepared deployments and presale lists have a limit by plan, which concurrent requests do not pass", async () => {
    api = await ApiServer.start();
    const { pool } = api.database;
    await pool.query(
      "UPDATE service.plan SET max_awaited_deployments = 3, max_allowlists = 2, allowlist_bytes = 300 WHERE tier = 'free'",
    );
    const [account, other] = [await api.account(), await api.account()];
    const all = await Promise.allSettled(Array.from({ length: 6 }, () => pool.query(prepared(account.id))));
    expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
    await pool.query(prepared(other.id));
    const wallet = `0x${"cc".repeat(20)}`;
    await pool.query(list(account.id, [wallet]));
    await expect(pool.query(list(account.id, [wallet, `${wallet} `]))).rejects.toMatchObject({ code: "MY001" });
    const lists = await Promise.allSettled(Array.from({ length: 4 }, () => pool.query(list(account.id, ["x"]))));
    expect(lists.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const stored =
      "SELECT allowlists, allowlist_bytes::int AS bytes FROM service.account_storage WHERE account_id = $1";
    expect((await pool.query(stored, [account.id])).rows).toEqual([{ allowlists: 2, bytes: 43 + 2 * 96 }]);
  });

  test("what expired long ago is cleared away and counts no more; what is awaited or stands stays", async () => {
    api = await ApiServer.start();
    const { pool, db } = api.database;
    const { id } = await api.account();
    const requests = [
      prepared(id, ", expires_at", ", clock_timestamp() - interval '31 days'"),
      prepared(id, ", expires_at", ", clock_timestamp() - interval '29 days'"),
      prepared(
        id,
        ", expires_at, address, tx_hash, block_number, block_hash",
        ", clock_timestamp() - interval '90 days', decode(repeat('aa', 20), 'hex'), sha256('t'), 1, sha256('b')",
      ),
    ];
    for (const request of requests) {
      await pool.query(list(id, ["12345"], request.values[0]));
      await pool.query(request);
      await pool.query("UPDATE service.self_deployment SET allowlist_id = id WHERE id = $1", [request.values[0]]);
    }
    expect(await clearExpired(db)).toEqual({ requests: 1, lists: 1 });
    expect(await clearExpired(db)).toEqual({ requests: 0, lists: 0 });
    const { rows } = await pool.query("SELECT id FROM service.allowlist ORDER BY id");
    expect(rows.map((row) => row.id)).toEqual(
      requests
        .slice(1)
        .map(({ values }) => values[0])
        .toSorted(),
    );
    const stored =
      "SELECT allowlists, allowlist_bytes::int AS bytes FROM service.account_storage WHERE account_id = $1";
    expect((await pool.query(stored, [id])).rows).toEqual([{ allowlists: 2, bytes: 10 + 2 * 96 }]);
  });
});
