import { type Address, type Hex, keccak256, pad, parseAbi, stringToBytes, toHex } from "viem";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { checkInvariants } from "../../src/indexing/invariants.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { slowness } from "../setup/wait.ts";
import {
  accounts,
  type Chain,
  contracts,
  type Indexer,
  startChain,
  startIndexer,
  until,
  untilIndexed,
} from "./indexed-chain.ts";

// Every start is a process that loads Ponder: seconds, and a minute on a machine with ten times the work it can do.
vi.setConfig({ testTimeout: 300_000 * slowness });

let database: TestDatabase;
let chain: Chain;
let indexer: Indexer;
const [alice, bob] = accounts.slice(1).map((account) => account.address) as [Address, Address];
const factory = "0x00000000000000000000000000000000000fac70";
/** The present one of two: products of both are known. */
const operator = "0x0000000000000000000000000000000000070e70";
const earlierOperator = "0x0000000000000000000000000000000000070e71";

beforeAll(async () => {
  [database, chain] = await Promise.all([createTestDatabase(), startChain()]);
  indexer = await startIndexer(database.url, chain.url, {
    FACTORY_GOERLI: factory,
    OPERATOR_GOERLI: operator,
    OPERATORS_BEFORE_GOERLI: `${earlierOperator}:0`,
  });
});
afterAll(async () => {
  await indexer.end();
  await chain.stop();
  await database.drop();
});

async function query(sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const { rows } = await database.pool.query<Record<string, unknown>>(sql, values);
  return rows;
}
const raw = (hex: Hex) => Buffer.from(hex.slice(2), "hex");

/** Every holding the index shows of these contracts, asked of the chain itself, and the number of them. */
async function expectHoldingsAsOnChain(...addresses: Address[]): Promise<number> {
  await untilIndexed(database.pool, chain);
  const holdings = await query(
    "SELECT contract, token_id, owner, amount, standard FROM nft.holdings WHERE contract = ANY($1)",
    [addresses.map(raw)],
  );
  const abi = parseAbi([
    "function ownerOf(uint256) view returns (address)",
    "function balanceOf(address, uint256) view returns (uint256)",
  ]);
  for (const holding of holdings) {
    const address = toHex(holding["contract"] as Buffer);
    const owner = toHex(holding["owner"] as Buffer);
    const tokenId = BigInt(holding["token_id"] as string);
    if (holding["standard"] === "ERC721") {
      const actual = await chain.client.readContract({ address, abi, functionName: "ownerOf", args: [tokenId] });
      expect(actual.toLowerCase()).toBe(owner);
    } else {
      const actual = await chain.client.readContract({
        address,
        abi,
        functionName: "balanceOf",
        args: [owner, tokenId],
      });
      expect(String(actual)).toBe(holding["amount"]);
    }
  }
  return holdings.length;
}

test("an empty chain is caught up, its head shown and its views typed", async () => {
  console.log(`empty chain: ready after ${indexer.readyAfterMs} ms`);
  expect(await query("SELECT chain_id, block_number FROM nft.heads")).toEqual([{ chain_id: 31337, block_number: 0n }]);
});

test("ERC-721 and ERC-1155 movements show as the chain has them, ERC-20 ones not at all", async () => {
  const nft = await chain.deploy(contracts().Erc721, ["Nft", "NFT", "ipfs://x/"]);
  const many = await chain.deploy(contracts().Erc1155, ["ipfs://y/"]);
  const coin = await chain.deploy(contracts().Erc20, ["Coin", "COIN"]);
  const deployer = chain.client.account.address;
  for (const to of [deployer, alice, bob]) await chain.call(nft, "mint", [to]);
  await chain.call(nft, "transferFrom", [deployer, bob, 0n]);
  await chain.call(nft, "burn", [1n], accounts[1]);
  await chain.call(many, "mint", [alice, 2n ** 256n - 1n, 5n, "0x"]);
  await chain.call(many, "mintBatch", [bob, [1n, 2n], [10n, 20n], "0x"]);
  await chain.call(many, "safeTransferFrom", [bob, alice, 2n, 8n, "0x"], accounts[2]);
  await chain.call(coin, "mint", [alice, 100n]);
  expect(await expectHoldingsAsOnChain(nft.address, many.address)).toBe(6);

  expect(await query("SELECT 1 FROM nft.transfers WHERE contract = $1", [raw(coin.address)])).toEqual([]);
  const burned = await query(
    "SELECT supply, owner, transfer_count, creator FROM nft.tokens WHERE contract = $1 AND token_id = 1",
    [raw(nft.address)],
  );
  expect(burned).toEqual([{ supply: "0", owner: null, transfer_count: 2n, creator: raw(deployer) }]);
  const [totals] = await query("SELECT * FROM nft.contracts WHERE address = $1", [raw(nft.address)]);
  expect(totals).toMatchObject({ standard: "ERC721", token_count: 2n, token_count_ever: 3n, transfer_count: 5n });
  expect(
    await query("SELECT standard, holding_count FROM nft.account_totals WHERE owner = $1 ORDER BY 1", [raw(bob)]),
  ).toEqual([
    { standard: "ERC1155", holding_count: 2n },
    { standard: "ERC721", holding_count: 2n },
  ]);
});

test("a block is readable soon after it was mined", async () => {
  const nft = await chain.deploy(contracts().Erc721, ["Nft", "NFT", "ipfs://x/"]);
  const delays: number[] = [];
  for (let round = 0; round < 5; round++) {
    await chain.call(nft, "mint", [alice]);
    const mined = performance.now();
    const shown = async () =>
      (await query("SELECT 1 FROM nft.tokens WHERE contract = $1", [raw(nft.address)])).length > round;
    await until(shown, "the minted token");
    delays.push(Math.round(performance.now() - mined));
  }
  console.log(`mined to readable: ${delays.join(", ")} ms`);
  expect(Math.min(...delays)).toBeLessThan(1_000);
});

const topics = {
  Transfer: "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
  TransferSingle: "0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62",
  TransferBatch: "0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb",
  ConsecutiveTransfer: "0xdeaa91b6123d068f5821d0fb0678463d1a8a6079fe8af5de3ce5e896dcf9133d",
  BatchMetadataUpdate: "0x6bd5c950a8d8df17f772f5af37cb3655737899cbf903264b9795592da439661c",
  MetadataUpdate: "0xf8e1a15aba9398e019f0b49df1a4fde98ee17ae345cb5f6b5e2c27f5033e8ce7",
  URI: "0x6bb7ff708619ba0610cba295a58592e0451dee2622938c8755667688daf3529b",
  ContractURIUpdated: keccak256(stringToBytes("ContractURIUpdated()")),
  ContractURIUpdatedTo: keccak256(stringToBytes("ContractURIUpdated(string,string)")),
} as const;
const word = (value: bigint | Hex) =>
  typeof value === "bigint" ? toHex(value, { size: 32 }) : pad(value, { size: 32 });
const words = (...values: bigint[]): Hex => `0x${values.map((value) => word(value).slice(2)).join("")}`;
const zero = word(0n);
const max = 2n ** 256n - 1n;

test("hostile logs are set aside with a reason and later ones of everybody are still taken in", async () => {
  const forger = await chain.deploy(contracts().Forger);
  const say = (logTopics: readonly Hex[], data: Hex = "0x") => chain.call(forger, "emitLog", [logTopics, data]);
  const batch = [topics.TransferBatch, word(bob), zero, word(alice)];
  await say([topics.Transfer, zero, word(max), word(1n)]); // dirty upper bytes
  await say(batch, words(64n, 128n, 1n, 7n, 2n, 1n, 1n)); // lengths differ
  await say(batch, words(64n, 2n ** 64n, 1n, 7n)); // offset beyond the data
  await say(batch, words(64n, 128n, 2n ** 64n, 7n)); // length beyond the data
  await say([topics.ConsecutiveTransfer, word(0n), zero, word(alice)], words(max));
  await say([topics.BatchMetadataUpdate], words(5n, 1n));
  await say([topics.TransferSingle, word(bob), zero, word(alice)], words(max, max));
  await say([topics.TransferSingle, word(bob), zero, word(alice)], words(max, max));
  await say([topics.Transfer, word(alice), word(bob), word(max)], "0x1234"); // extra data, never minted
  await say(batch, words(64n, 160n, 2n, 7n, 8n, 2n, 3n, 4n)); // a good one at last
  await say([topics.ConsecutiveTransfer, word(10n), zero, word(bob)], words(12n));
  await say([topics.BatchMetadataUpdate], words(0n, max));
  await say([topics.MetadataUpdate], words(3n));
  await say([topics.URI, word(9n)], words(32n, 0n));
  // ERC-7572's, bare and with what does not belong there; thirdweb's, with and without texts that decode.
  await say([topics.ContractURIUpdated]);
  await say([topics.ContractURIUpdated, word(1n), word(2n)], words(32n, max));
  await say([topics.ContractURIUpdatedTo], words(64n, 96n, 0n, 0n));
  await say([topics.ContractURIUpdatedTo], words(max, 2n ** 64n));
  await say([topics.ContractURIUpdatedTo, word(1n)]);
  await untilIndexed(database.pool, chain);

  const of = [raw(forger.address)];
  const held = await query(
    "SELECT token_id, owner, amount, standard FROM nft.holdings WHERE contract = $1 ORDER BY token_id",
    of,
  );
  expect(held.map((row) => [row["token_id"], toHex(row["owner"] as Buffer), row["amount"]])).toEqual([
    ["7", alice.toLowerCase(), "3"],
    ["8", alice.toLowerCase(), "4"],
    ["10", bob.toLowerCase(), "1"],
    ["11", bob.toLowerCase(), "1"],
    ["12", bob.toLowerCase(), "1"],
    [String(max), alice.toLowerCase(), String(2n * max)],
  ]);
  const updates = await query(
    "SELECT from_token_id, to_token_id FROM nft.metadata_updates WHERE contract = $1 ORDER BY block_number",
    of,
  );
  expect(updates.map((row) => [row["from_token_id"], row["to_token_id"]])).toEqual([
    ["0", String(max)],
    ["3", "3"],
    ["9", "9"],
  ]);
  expect(await query("SELECT 1 FROM nft.contract_updates WHERE contract = $1", of)).toHaveLength(5);
  const [{ schema } = {}] = await query("SELECT schema_name AS schema FROM nft.index_version WHERE live");
  const aside = await query(`SELECT event, reason FROM "${String(schema)}".rejected_log ORDER BY block_number`);
  expect(aside.map((row) => row["event"])).toEqual(
    expect.arrayContaining(["Transfer", "TransferBatch", "ConsecutiveTransfer", "BatchMetadataUpdate"]),
  );
});

test("what is of ERC-20 leaves the index once that is known, and logs with other indexed parameters never come", async () => {
  const [coin, half] = [await chain.deploy(contracts().Forger), await chain.deploy(contracts().Forger)];
  const say = (from: typeof coin, logTopics: readonly Hex[], data: Hex = "0x") =>
    chain.call(from, "emitLog", [logTopics, data]);
  const move = (from: Hex, to: Hex, value: bigint) => say(coin, [topics.Transfer, word(from), word(to), word(value)]);
  await move(zero, alice, 0n);
  await move(zero, alice, 10n ** 18n);
  await move(alice, bob, 10n ** 18n);
  // As CryptoKitties and Axie have it, and what nobody has.
  await say(half, [topics.Transfer], words(BigInt(alice), BigInt(bob), 1n));
  await say(half, [topics.Transfer, word(alice)], words(BigInt(bob), 1n));
  await say(half, [topics.Transfer, word(alice), word(bob)], words(1n));
  await untilIndexed(database.pool, chain);
  const of = [raw(coin.address)];
  const shown = async (column: string, ...views: string[]) =>
    (await Promise.all(views.map((view) => query(`SELECT 1 FROM nft.${view} WHERE ${column} = $1`, of)))).map(
      (rows) => rows.length,
    );
  const all = async () => [
    ...(await shown("contract", "tokens", "transfers")),
    ...(await shown("address", "contracts")),
  ];
  expect(await all()).toEqual([2, 3, 1]);
  for (const view of ["transfer_rows", "rejected_logs", "contract_flags"])
    expect(await query(`SELECT 1 FROM nft.${view} WHERE contract = $1`, [raw(half.address)])).toEqual([]);

  await query("INSERT INTO service.contract_metadata (chain_id, address, fungible) VALUES (31337, $1, true)", of);
  await until(async () => (await all()).every((count) => count === 0), "the ERC-20 to be left out");
  const snapshot = await chain.client.snapshot();
  await move(bob, alice, 5n);
  await untilIndexed(database.pool, chain);
  await chain.client.revert({ id: snapshot });
  await chain.client.mine({ blocks: 1 });
  for (const value of [6n, 7n]) await move(bob, alice, value);
  const leftOut = () => query("SELECT count FROM nft.contract_flags WHERE contract = $1 AND flag = 'fungible'", of);
  await until(async () => (await leftOut())[0]?.["count"] === 5n, "the other branch");
  expect(await all()).toEqual([0, 0, 0]);
  const [{ schema } = {}] = await query("SELECT schema_name AS schema FROM nft.index_version WHERE live");
  const client = await database.pool.connect();
  const findings = await checkInvariants(client, 31337, String(schema));
  client.release();
  expect(findings.filter(({ id, faults }) => /I[348]/.test(id) && faults !== 0)).toEqual([]);

  await query("UPDATE service.contract_metadata SET fungible = false WHERE address = $1", of);
  await until(async () => (await all())[0] === 4, "the collection after all");
  expect(await all()).toEqual([4, 5, 1]);
  expect(await leftOut()).toEqual([]);
});

test("only the configured factory's CollectionDeployed makes a collection", async () => {
  const forger = await chain.deploy(contracts().Forger);
  const intentId = word(77n);
  const topic = keccak256(stringToBytes("CollectionDeployed(bytes32,address,address)"));
  await chain.call(forger, "emitLog", [[topic, word(78n), word(alice), word(bob)], "0x"]);
  const code = await chain.client.getCode({ address: forger.address });
  await chain.client.setCode({ address: factory, bytecode: code ?? "0x" });
  await chain.call({ ...forger, address: factory }, "emitLog", [[topic, intentId, word(alice), word(bob)], "0x"]);
  await untilIndexed(database.pool, chain);
  expect(await query("SELECT address, owner, intent_id, factory FROM nft.collections")).toEqual([
    { address: raw(alice), owner: raw(bob), intent_id: raw(intentId), factory: raw(factory) },
  ]);
});

test("a reorg takes rows, state and head back to what the chain has", async () => {
  const nft = await chain.deploy(contracts().Erc721, ["Nft", "NFT", "ipfs://x/"]);
  await chain.call(nft, "mint", [alice]);
  const snapshot = await chain.client.snapshot();
  await chain.call(nft, "transferFrom", [alice, bob, 0n], accounts[1]);
  for (let count = 0; count < 3; count++) await chain.call(nft, "mint", [bob]);
  await untilIndexed(database.pool, chain);
  const shown = () =>
    query("SELECT token_id, owner FROM nft.holdings WHERE contract = $1 ORDER BY token_id", [raw(nft.address)]);
  expect(await shown()).toHaveLength(4);

  await chain.client.revert({ id: snapshot });
  await chain.client.mine({ blocks: 1 });
  for (let count = 0; count < 6; count++) await chain.call(nft, "mint", [alice]);
  await until(async () => (await shown()).length === 7, "the other branch");
  expect((await shown()).every((row) => (row["owner"] as Buffer).equals(raw(alice)))).toBe(true);
  expect(await expectHoldingsAsOnChain(nft.address)).toBe(7);
  expect(
    await query("SELECT transfer_count, token_count_ever FROM nft.contracts WHERE address = $1", [raw(nft.address)]),
  ).toEqual([{ transfer_count: 7n, token_count_ever: 7n }]);
});

const productDeployed = keccak256(stringToBytes("ProductDeployed(bytes32,address,address)"));

/** Says at these addresses what an operator says when it has deployed a product, `intent` a name of its choice. */
async function operators() {
  const forger = await chain.deploy(contracts().Forger);
  const code = (await chain.client.getCode({ address: forger.address })) ?? "0x";
  for (const address of [operator, earlierOperator] as const) await chain.client.setCode({ address, bytecode: code });
  return (by: Address, product: Address, owner: Address, intent = word(1n)) =>
    [{ ...forger, address: by }, "emitLog", [[productDeployed, intent, word(product), word(owner)], "0x"]] as const;
}

const creators = async (contract: Address) =>
  (await query("SELECT creator FROM nft.tokens WHERE contract = $1 ORDER BY token_id", [raw(contract)])).map((row) =>
    toHex(row["creator"] as Buffer),
  );

test("tokens of a product contract have the owner whom an operator named as creator, others the sender", async () => {
  const announce = await operators();
  const sender = chain.client.account.address.toLowerCase();
  const deploy = () => chain.deploy(contracts().Erc721, ["Nft", "NFT", "ipfs://x/"]);
  const [first, second, easy, other] = [await deploy(), await deploy(), await deploy(), await deploy()];
  const many = await chain.deploy(contracts().Erc1155, ["ipfs://y/"]);
  // The second one's token is there before.
  await chain.call(second, "mint", [alice]);
  for (const [by, product] of [
    [operator, first],
    [earlierOperator, second],
    [operator, many],
  ] as const)
    await chain.call(...announce(by, product.address, bob));
  await chain.call(...announce(operator, easy.address, bob, keccak256(stringToBytes("easy mints"))));
  // Somebody who is no operator says the same.
  const forger = await chain.deploy(contracts().Forger);
  await chain.call(...announce(forger.address, other.address, bob));
  await chain.call(many, "mint", [alice, 1n, 5n, "0x"]);
  for (const nft of [first, second, easy, other]) await chain.call(nft, "mint", [alice]);
  await untilIndexed(database.pool, chain);
  const found = await Promise.all([first, second, many, easy, other].map(({ address }) => creators(address)));
  const owner = bob.toLowerCase();
  expect(found).toEqual([[owner], [owner, owner], [owner], [sender], [sender]]);
  const named = await query(
    "SELECT address, owner, operator FROM nft.products WHERE owner = $1 ORDER BY block_number",
    [raw(bob)],
  );
  expect(named).toEqual([
    { address: raw(first.address), owner: raw(bob), operator: raw(operator) },
    { address: raw(second.address), owner: raw(bob), operator: raw(earlierOperator) },
    { address: raw(many.address), owner: raw(bob), operator: raw(operator) },
  ]);
});

test("a reorg takes a product and its mints back, and derives the creator again from what the chain has then", async () => {
  const announce = await operators();
  const sender = chain.client.account.address.toLowerCase();
  const [nft, sameBlock] = [
    await chain.deploy(contracts().Erc721, ["Nft", "NFT", "ipfs://x/"]),
    await chain.deploy(contracts().Erc721, ["Nft", "NFT", "ipfs://x/"]),
  ];
  await chain.call(nft, "mint", [alice]);
  const inOneBlock = async (owner: Address) => {
    await chain.client.setAutomine(false);
    const from = accounts[0] as NonNullable<(typeof accounts)[0]>;
    const [to, functionName, args] = announce(operator, sameBlock.address, owner);
    const hashes = [
      await chain.client.writeContract({ ...to, functionName, args, account: from }),
      await chain.client.writeContract({ ...sameBlock, functionName: "mint", args: [alice], account: from }),
    ];
    await chain.client.mine({ blocks: 1 });
    await chain.client.setAutomine(true);
    const blocks = await Promise.all(hashes.map((hash) => chain.client.waitForTransactionReceipt({ hash })));
    expect(new Set(blocks.map(({ blockNumber }) => blockNumber)).size).toBe(1);
  };
  const snapshot = await chain.client.snapshot();
  await chain.call(...announce(operator, nft.address, bob));
  await chain.call(nft, "mint", [alice]);
  await inOneBlock(bob);
  await untilIndexed(database.pool, chain);
  const owner = bob.toLowerCase();
  expect([await creators(nft.address), await creators(sameBlock.address)]).toEqual([[owner, owner], [owner]]);

  // The product is gone, a mint before it stays; another one gets another owner.
  await chain.client.revert({ id: snapshot });
  await chain.client.mine({ blocks: 1 });
  await inOneBlock(alice);
  for (let count = 0; count < 3; count++) await chain.call(nft, "mint", [alice]);
  await until(async () => (await creators(nft.address)).length === 4, "the other branch");
  await untilIndexed(database.pool, chain);
  expect(await creators(nft.address)).toEqual([sender, sender, sender, sender]);
  expect(await creators(sameBlock.address)).toEqual([alice.toLowerCase()]);

  // It comes again after its tokens.
  await chain.call(...announce(operator, nft.address, alice));
  await until(async () => (await creators(nft.address))[0] === alice.toLowerCase(), "the product");
  expect(new Set(await creators(nft.address))).toEqual(new Set([alice.toLowerCase()]));
});
