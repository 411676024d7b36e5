import { afterAll, beforeAll, expect, test } from "vitest";
import type { Caller } from "../../src/auth/caller.ts";
import { applyDemand } from "../../src/metadata/discover/apply-demand.ts";
import { discover, sweep } from "../../src/metadata/discover/discover.ts";
import { MetadataDemand } from "../../src/metadata/discover/metadata-demand.ts";
import { claimTokens, finishToken } from "../../src/metadata/store/queue.ts";
import { createIndexedDatabase, type TestDatabase } from "../setup/database.ts";
import { addressOf, type NftFixture, nobody } from "../setup/nft-fixture.ts";
import { openReadApis, type ReadApis } from "../setup/read-apis.ts";

const chainId = 31337;
const firstTokens = 10;
const tokens = 25;
const alice = addressOf(0x11);
const [unasked, other, own, airdrop] = [0x31, 0x32, 0x33, 0x34].map(addressOf) as [string, string, string, string];
let database: TestDatabase;
let index: NftFixture;
let apis: ReadApis;
let head = 0n;

beforeAll(async () => {
  const indexed = await createIndexedDatabase([chainId, 31338]);
  database = indexed.database;
  const [fixture] = indexed.nfts;
  if (!fixture) throw new Error("no fixture");
  index = fixture;
  apis = openReadApis(database);
  for (const contract of [unasked, other, own]) head = await mint(contract, 0);
  head = await mint(airdrop, 0, alice);
  await database.pool.query("INSERT INTO c31337_test.collection (address, block_number) VALUES ($1, 1)", [bytes(own)]);
});
afterAll(async () => {
  await apis.services.pool.end();
  await database.drop();
});

const bytes = (hex: string) => Buffer.from(hex.slice(2), "hex");

async function mint(contract: string, from: number, to = addressOf(0x12)): Promise<bigint> {
  const ids = Array.from({ length: tokens }, (_, at) => BigInt(from + at));
  return BigInt(await index.add(ids.map((tokenId) => ({ contract, tokenId, from: nobody, to }))));
}

/** Queued tokens of a contract. */
async function queued(contract: string): Promise<number[]> {
  const { rows } = await database.pool.query<{ id: number }>(
    "SELECT token_id::int AS id FROM service.token_metadata WHERE chain_id = $1 AND contract = $2 ORDER BY 1",
    [chainId, bytes(contract)],
  );
  return rows.map(({ id }) => id);
}

async function row(contract: string, tokenId: number) {
  return await database.db
    .selectFrom("service.token_metadata")
    .selectAll()
    .where("contract", "=", bytes(contract))
    .where("token_id", "=", String(tokenId))
    .executeTakeFirst();
}

/** What the worker does with what readers asked for. */
async function afterDemand(): Promise<void> {
  await apis.services.demand.flush();
  await applyDemand(database.db, chainId);
}

const first = Array.from({ length: firstTokens }, (_, at) => at);
const all = Array.from({ length: tokens }, (_, at) => at);

test("of contracts that nobody asked for the first tokens are queued, of collections of this installation all", async () => {
  await discover(database.db, chainId, head, { firstTokens, refreshWindowSeconds: 0 });
  expect([await queued(unasked), await queued(other), await queued(own)]).toEqual([first, first, all]);
  // Neither a further pass nor the sweep adds to them, and new tokens of the own collection are found.
  await mint(unasked, 100);
  head = await mint(own, 100);
  await discover(database.db, chainId, head, { firstTokens, refreshWindowSeconds: 0 });
  await sweep(database.db, chainId, firstTokens);
  expect([(await queued(unasked)).length, (await queued(own)).length]).toEqual([firstTokens, 2 * tokens]);
});

test("a token that moved between holders is queued", async () => {
  head = BigInt(await index.add([{ contract: other, tokenId: 20n, from: addressOf(0x12), to: addressOf(0x13) }]));
  await discover(database.db, chainId, head, { firstTokens, refreshWindowSeconds: 0 });
  expect(await queued(other)).toEqual([...first, 20]);
});

test("a page of an account queues the tokens it shows, and no collections as a whole", async () => {
  expect((await queued(airdrop)).length).toBe(firstTokens);
  await apis.v0(`/accounts/${alice}?chain=goerli`);
  await afterDemand();
  expect(await queued(airdrop)).toEqual(all);
  await mint(airdrop, 100);
  head = await mint(airdrop, 200);
  await discover(database.db, chainId, head, { firstTokens, refreshWindowSeconds: 0 });
  expect(await queued(airdrop)).toEqual(all);
});

test("a read of a token queues it before all others, and then its collection, also what is minted later", async () => {
  apis.takeStatements();
  const { body } = await apis.v0(`/nfts/${other}/24?chain=goerli`);
  expect(body.nft.token_id).toBe("24");
  // The read itself is one statement: the demand is stored later.
  expect(apis.takeStatements().length).toBe(1);
  await afterDemand();
  expect((await row(other, 24))?.priority).toBe(0);
  expect((await row(other, 15))?.priority).toBe(2);
  expect(await queued(other)).toEqual(all);
  head = await mint(other, 100);
  await discover(database.db, chainId, head, { firstTokens, refreshWindowSeconds: 0 });
  expect((await queued(other)).length).toBe(2 * tokens);
});

test("each way of reading a collection is a demand for it", async () => {
  const of = (contract: string) => `contract(chain: "goerli", address: "${contract}")`;
  const reads: ((contract: string) => Promise<unknown>)[] = [
    (contract) => apis.v0(`/nfts/${contract}?chain=goerli`),
    (contract) => apis.graphql(`{ ${of(contract)} { nfts { nodes { tokenId } } } }`),
    (contract) => apis.graphql(`{ contract(chain: "goerli", address: "${contract}") { name } }`),
    (contract) => apis.graphql(`{ ${of(contract)} { statistics { tokenCount } } }`),
    (contract) => apis.graphql(`{ nft(chain: "goerli", contract: "${contract}", tokenId: "1") { name } }`),
    async (contract) => {
      const shown = await apis.graphql(`{ ${of(contract)} { metadataProgress { total fresh pending failed } } }`);
      expect(shown.data.contract.metadataProgress).toEqual({ total: tokens, fresh: 0, pending: tokens, failed: 0 });
    },
  ];
  for (const [at, read] of reads.entries()) {
    const contract = addressOf(0x60 + at);
    head = await mint(contract, 0);
    await discover(database.db, chainId, head, { firstTokens, refreshWindowSeconds: 0 });
    expect(await queued(contract)).toEqual(first);
    await read(contract);
    await afterDemand();
    expect([at, await queued(contract)]).toEqual([at, all]);
  }
});

test("tries of a token end, and a demand after an hour is another try", async () => {
  const contract = bytes(unasked);
  const due = { contract, priority: 0 };
  const update = (columns: string) =>
    database.pool.query(`UPDATE service.token_metadata SET ${columns} WHERE contract = $1 AND token_id = 3`, [
      contract,
    ]);
  let caller: Caller = { accountId: "rich", tier: "growth", requestId: "test" };
  const askAgain = async () => {
    apis.services.demand.shown(caller, chainId, unasked, "3");
    await afterDemand();
    return (await row(unasked, 3))?.next_attempt_at;
  };
  const block = { number: head, hash: `0x${"12".repeat(32)}` } as const;
  await database.pool.query("INSERT INTO service.metadata_read_block VALUES ($1, $2, $3)", [
    ...[chainId, String(head)],
    bytes(block.hash),
  ]);
  await update("attempts = 7, priority = 0, next_attempt_at = clock_timestamp()");
  const [job] = await claimTokens(database.db, chainId, [{ ...due, count: 1 }]);
  if (!job) throw new Error("nothing was due");
  await finishToken(database.db, job, block, { outcome: "failed", fault: "http_404", tokenUri: null, raw: null });
  expect(await row(unasked, 3)).toMatchObject({ status: "failed", attempts: 8, next_attempt_at: null });
  expect(await askAgain()).toBeNull();
  await update("attempted_at = clock_timestamp() - interval '2 hours'");
  // The same demand is recorded once in ten minutes by one process.
  const again = (mayRetry?: (account: string) => Promise<boolean>) => {
    apis.services.demand = new MetadataDemand(database.pool, apis.services.log, mayRetry);
  };
  // A plan that counts days pays for such a try; without room for it there is none, and nobody else's is kept from being one.
  const asked: string[] = [];
  let room = false;
  again(async (account) => {
    asked.push(account);
    return room;
  });
  caller = { ...caller, tier: "free", accountId: "poor" };
  expect(await askAgain()).toBeNull();
  room = true;
  caller = { ...caller, accountId: "other" };
  expect(await askAgain()).not.toBeNull();
  expect(asked).toEqual(["poor", "other"]);
  await update("next_attempt_at = NULL");
  again(async () => false);
  caller = { ...caller, tier: "growth" };
  expect(await askAgain()).not.toBeNull();
});

test("a large collection is queued in parts, and no more of all of them waits than the queue may hold", async () => {
  await database.pool.query("DELETE FROM service.token_metadata");
  await database.pool.query("UPDATE service.contract_metadata SET demanded_at = NULL");
  const large = addressOf(0x35);
  await mint(large, 0);
  const demand = new MetadataDemand(database.pool, apis.services.log);
  demand.contract(chainId, large);
  await demand.flush();
  const round = async () => {
    await applyDemand(database.db, chainId, { portion: 10, waiting: 12 });
    return (await queued(large)).length;
  };
  expect([await round(), await round(), await round()]).toEqual([10, 12, 12]);
  // The rest follows as the queue empties.
  await database.pool.query("UPDATE service.token_metadata SET next_attempt_at = NULL, status = 'failed'");
  expect([await round(), await round()]).toEqual([22, 24]);
  await database.pool.query("UPDATE service.token_metadata SET next_attempt_at = NULL, status = 'failed'");
  expect([await round(), await round()]).toEqual([tokens, tokens]);
});
