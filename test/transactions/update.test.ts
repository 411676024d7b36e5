import type { Address } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import type { Caller } from "../../src/auth/caller.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { toBytes } from "../../src/db/bytes.ts";
import { Rounds } from "../../src/rounds.ts";
import type { Services } from "../../src/services.ts";
import { cancelIntent } from "../../src/transactions/accept/cancel-intent.ts";
import { turnMs, untilSigned } from "../../src/transactions/accept/until-signed.ts";
import type { ConfigChanges } from "../../src/transactions/store/payloads.ts";
import { runRelay } from "../../src/transactions/track/run-relay.ts";
import { acceptUpdate } from "./accept.ts";
import { goerli, launch, RelayHarness, randomAddress } from "./harness.ts";

let h: RelayHarness;
let api: Services;
let worker: Services;
let caller: Caller;
let contract: Address;
const done = ["confirmed", "finalized"];

beforeAll(async () => {
  h = await RelayHarness.start();
  api = h.process();
  worker = h.process();
  caller = await h.caller();
  const { deployment } = await deployCollection(api, caller, launch());
  await h.until(worker, deployment.id, done);
  contract = deployment.contract;
});
afterAll(() => h?.stop());

async function accept(changes: ConfigChanges, idempotencyKey?: string) {
  return await acceptUpdate(api, caller, {
    chain: goerli(api),
    contract,
    changes,
    ...(idempotencyKey ? { idempotencyKey } : {}),
  });
}

async function runtimeConfig() {
  const info = await h.chain.readContract({ address: contract, abi: collectionAbi, functionName: "getInfo" });
  return info.runtimeConfig;
}

test("an update changes what was asked and leaves the rest of the record as it was", async () => {
  const before = await runtimeConfig();
  const intent = await accept({ baseUri: "ipfs://revealed/" });
  await untilSigned(api, goerli(api), intent);
  await h.until(worker, intent.id, done);
  expect(await runtimeConfig()).toEqual({ ...before, baseURI: "ipfs://revealed/" });
});

test("what an update changed is read from the collection again, at its block or later", async () => {
  const key = [goerli(api).id, toBytes(contract)];
  const read = { wanted_block: null, is_due: false };
  // As of a collection that was read and told nothing new for long.
  await api.pool.query(
    `INSERT INTO service.contract_metadata (chain_id, address, fetched_block, next_attempt_at, unchanged)
     VALUES ($1, $2, 0, 'infinity', 9)`,
    key,
  );
  const look = async () => {
    const { rows } = await api.pool.query(
      `SELECT wanted_block, next_attempt_at <= clock_timestamp() AS is_due, unchanged FROM service.contract_metadata
       WHERE chain_id = $1 AND address = $2`,
      key,
    );
    return rows[0];
  };
  expect(await look()).toMatchObject(read);
  const signed = await accept({ royaltiesBps: 750n });
  await untilSigned(api, goerli(api), signed);
  await h.until(worker, signed.id, done);
  const { rows } = await api.pool.query("SELECT mined_block FROM service.nonce_reservation WHERE intent_id = $1", [
    signed.id,
  ]);
  expect(await look()).toEqual({ wanted_block: rows[0].mined_block, is_due: true, unchanged: 0 });
  // Another collection's deployment is no reason.
  await api.pool.query(
    "UPDATE service.contract_metadata SET wanted_block = NULL, next_attempt_at = 'infinity' WHERE chain_id = $1 AND address = $2",
    key,
  );
  const { deployment } = await deployCollection(api, caller, launch());
  await h.until(worker, deployment.id, done);
  expect(await look()).toMatchObject(read);
});

test("updates accepted at once land in their order, each on top of the one before", async () => {
  const receiver = randomAddress();
  const intents = [
    await accept({ baseUri: "ipfs://first/", royaltiesBps: 100n }),
    await accept({ royaltiesAddress: receiver }),
    await accept({ baseUri: "ipfs://third/" }),
  ];
  const stop = new AbortController();
  const workers = [worker, h.process()].map((services) => runRelay(services, new Rounds(stop.signal)));
  for (const { id } of intents) await h.untilState(id, done);
  stop.abort();
  await Promise.all(workers);
  const now = await runtimeConfig();
  expect(now).toMatchObject({ baseURI: "ipfs://third/", royaltiesBps: 100n });
  expect(now.royaltiesAddress.toLowerCase()).toBe(receiver);
  const { rows } = await api.pool.query(
    `SELECT i.id FROM service.intent i JOIN service.nonce_reservation s ON s.intent_id = i.id
     WHERE i.kind = 'update' AND i.id = ANY($1) ORDER BY s.nonce`,
    [intents.map(({ id }) => id)],
  );
  expect(rows.map(({ id }) => id)).toEqual(intents.map(({ id }) => id));
});

test("an update is built on the one before as soon as that is mined, however many confirmations are wanted", async () => {
  const services = h.process({ CONFIRMATIONS_GOERLI: "12" });
  const stop = new AbortController();
  const relay = runRelay(services, new Rounds(stop.signal));
  try {
    const ids: string[] = [];
    for (let bps = 201n; bps <= 209n; bps += 1n) {
      const changes = { royaltiesBps: bps, ...(bps === 201n ? { baseUri: "ipfs://nine/" } : {}) };
      const intent = await accept(changes);
      await h.untilState(intent.id, ["signed", "in_flight", "mined"]);
      ids.push(intent.id);
    }
    const states = async () => {
      const sent = "SELECT state FROM service.intent WHERE id = ANY($1) AND settled_at IS NULL";
      return (await api.pool.query(sent, [ids])).rowCount;
    };
    expect(await states()).toBe(ids.length);
    await h.untilState(ids.at(-1) ?? "", ["mined"]);
    expect(await states()).toBe(ids.length);
    expect(await runtimeConfig()).toMatchObject({ baseURI: "ipfs://nine/", royaltiesBps: 209n });
    await h.chain.mine({ blocks: 12 });
    for (const id of ids) await h.untilState(id, done);
  } finally {
    stop.abort();
    await relay;
  }
});

test("an update waits two slow blocks for its turn, and half a minute at most", () => {
  expect([null, 2_000n, 12_000n, 60_000n].map(turnMs)).toEqual([10_000, 10_000, 24_000, 30_000]);
});

test("an update that the contract refuses keeps later ones waiting for ten minutes at most", async () => {
  const { deployment } = await deployCollection(api, caller, launch());
  await h.until(worker, deployment.id, done);
  const before = contract;
  contract = deployment.contract;
  try {
    const freeze = await accept({ metadataUpdatable: false });
    const refused = await accept({ baseUri: "ipfs://too-late/" });
    const later = await accept({ royaltiesBps: 123n });
    await h.until(worker, freeze.id, done);
    const failure = await untilSigned(api, goerli(api), refused).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: "service_unavailable",
      message: expect.stringContaining("the contract would refuse"),
    });
    await expect(untilSigned(api, goerli(api), later)).rejects.toThrow(
      /an earlier update of this contract is under way/,
    );
    const row = () => api.pool.query("SELECT state, expires_at FROM service.intent WHERE id = $1", [refused.id]);
    const minutes = ((await row()).rows[0].expires_at - Date.now()) / 60_000;
    expect(minutes).toBeGreaterThan(8);
    expect(minutes).toBeLessThanOrEqual(10);
    // Ten minutes later.
    await api.pool.query("UPDATE service.intent SET expires_at = now(), version = version + 1 WHERE id = $1", [
      refused.id,
    ]);
    await h.until(worker, later.id, done);
    expect((await row()).rows[0].state).toBe("expired");
    expect(await runtimeConfig()).toMatchObject({ royaltiesBps: 123n, metadataUpdatable: false });
  } finally {
    contract = before;
  }
});

test("without a key the same update is one, until another one came between", async () => {
  const first = await accept({ royaltiesBps: 1n });
  expect((await accept({ royaltiesBps: 1n })).id).toBe(first.id);
  const other = await accept({ royaltiesBps: 2n });
  const again = await accept({ royaltiesBps: 1n });
  expect(again.id).not.toBe(first.id);
  await h.until(worker, first.id, done);
  await h.until(worker, other.id, done);
  await h.until(worker, again.id, done);
  expect((await runtimeConfig()).royaltiesBps).toBe(1n);
});

test("a key names one update for ever, and another request under it is refused", async () => {
  const first = await accept({ royaltiesBps: 7n }, "seven");
  expect((await accept({ royaltiesBps: 7n }, "seven")).id).toBe(first.id);
  await expect(accept({ royaltiesBps: 8n }, "seven")).rejects.toMatchObject({ code: "value_error" });
  await h.until(worker, first.id, done);
});

test("a contract that this account did not deploy is not found", async () => {
  const thirdParty = await h.caller();
  const request = { chain: goerli(api), changes: {} };
  await expect(acceptUpdate(api, thirdParty, { ...request, contract })).rejects.toMatchObject({ code: "not_found" });
  const elsewhere = acceptUpdate(api, caller, { ...request, contract: randomAddress() });
  await expect(elsewhere).rejects.toMatchObject({ code: "not_found" });
});

test("what has no nonce yet is cancelled at once, and only by its own account", async () => {
  const intent = await accept({ royaltiesBps: 9n });
  const thirdParty = await h.caller();
  await expect(cancelIntent(api, thirdParty.accountId, intent.id)).rejects.toMatchObject({ code: "not_found" });
  expect((await cancelIntent(api, caller.accountId, intent.id)).state).toBe("cancelled");
  await expect(untilSigned(api, goerli(api), intent)).rejects.toMatchObject({ code: "value_error" });
  expect((await runtimeConfig()).royaltiesBps).not.toBe(9n);
});
