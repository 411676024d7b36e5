import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, publishAnalytics } from "../../src/indexing/nft-views.ts";
import { ApiServer } from "../setup/api-server.ts";
import { addressOf, nobody } from "../setup/nft-fixture.ts";

// A contract with one event of ERC-1155 is of that standard, also where a list shows its tokens of ERC-721. Judged by the
// base table.
const [single, multi, mixed] = [0xa1, 0xa2, 0xa3].map(addressOf) as [string, string, string];
const alice = addressOf(0x11);
/** Who sends the transactions of the fixture. */
const creator = addressOf(0xcc);
const mint = { from: nobody, to: alice };
let api: ApiServer;
let key: string;
let firstBlock: number;
beforeAll(async () => {
  api = await ApiServer.start({ INDEX_SCOPE_ETHEREUM: single });
  firstBlock = await api.nfts.add([
    { ...mint, contract: single, tokenId: 1n },
    { ...mint, contract: multi, tokenId: 1n, amount: 3n, standard: "ERC1155" },
    { ...mint, contract: mixed, tokenId: 1n },
    { ...mint, contract: mixed, tokenId: 2n, amount: 2n, standard: "ERC1155" },
    { ...mint, contract: mixed, tokenId: 3n },
  ]);
  key = (await api.account("enterprise")).key;
  const client = await connect(api.database.url, "analytics");
  await client.query("BEGIN");
  await publishAnalytics(client, async (sql) => void (await client.query(sql)));
  await client.query("COMMIT");
  await client.end();
});
afterAll(() => api?.close());

const nodes = "contractAddress tokenId standard contract { address standard }";
const lists = [
  `account(address: "${alice}") { nfts(chain: "goerli", first: 9) { nodes { ${nodes} } } }`,
  `account(address: "${alice}") { nfts(chain: "goerli", last: 9) { edges { node { ${nodes} } } } }`,
  `account(address: "${alice}") { nfts(chain: "goerli", first: 9) { edges { cursor node { ${nodes} } } } }`,
  `chain(name: "goerli") { latestNfts(first: 9) { nodes { ${nodes} } } }`,
];

interface Shown {
  contractAddress: string;
  contract: { standard: string };
}

/** The standard of each contract as every list shows it; all of them say the same. */
async function shown(): Promise<Record<string, string>> {
  const all = new Map<string, Set<string>>();
  const see = (address: string, standard: string) =>
    all.set(address.toLowerCase(), (all.get(address.toLowerCase()) ?? new Set()).add(standard));
  // The first time it is executed, then its plan answers.
  for (const list of lists)
    for (let turn = 0; turn < 3; turn += 1) {
      const { body } = await api.graphql(key, `{ root: ${list} }`);
      const { nfts, latestNfts } = body.data.root;
      const found = (nfts ?? latestNfts) as { nodes?: Shown[]; edges?: { node: Shown }[] };
      for (const node of found.nodes ?? (found.edges ?? []).map((edge) => edge.node))
        see(node.contractAddress, node.contract.standard);
    }
  for (const path of [
    `/v0/accounts/${alice}?chain=goerli&include=contract_information`,
    `/v0/accounts/${alice}?chain=goerli&include=contract_information&page_size=1&page_number=3`,
    "/v0/nfts?chain=goerli&include=contract_information",
  ]) {
    const { status, body } = await api.send("GET", path, key);
    expect(status).toBe(200);
    for (const { contract_address, contract } of body.nfts) see(contract_address, contract.type);
  }
  return Object.fromEntries([...all].map(([address, standards]) => [address, [...standards].join()]));
}

async function judged(): Promise<Record<string, string>> {
  const { rows } = await api.database.pool.query(
    "SELECT '0x' || encode(address, 'hex') AS address, standard FROM nft.contracts WHERE token_count > 0",
  );
  return Object.fromEntries(rows.map(({ address, standard }) => [address, standard]));
}

test("every list shows a contract's own standard, also after a reorganisation took its events of ERC-1155 back", async () => {
  expect(await judged()).toEqual({ [single]: "ERC721", [multi]: "ERC1155", [mixed]: "ERC1155" });
  expect(await shown()).toEqual(await judged());
  const { rows } = await api.database.pool.query(
    "SELECT schemaname AS schema FROM pg_tables WHERE tablename = 'holding' AND schemaname LIKE 'c31337%'",
  );
  await api.database.pool.query(
    `DELETE FROM "${rows[0].schema}".transfer WHERE contract = $1 AND standard = 'ERC1155'`,
    [Buffer.from(mixed.slice(2), "hex")],
  );
  expect(await judged()).toEqual({ [single]: "ERC721", [multi]: "ERC1155", [mixed]: "ERC721" });
  expect(await shown()).toEqual(await judged());
});

/** A chain's every list and number, from both APIs and SQL, without the time at which it was computed. */
async function everything(contract: string): Promise<Record<string, unknown>> {
  const page = "chain=goerli&include=all";
  const paths = [
    `/v0/accounts/${alice}?${page}`,
    `/v0/accounts/${alice}?${page}&contract_address=${contract}`,
    `/v0/accounts/contracts/${alice}?chain=goerli`,
    `/v0/accounts/creators/${creator}?${page}`,
    `/v0/nfts?${page}`,
    `/v0/nfts/${contract}?${page}`,
    `/v0/nfts/${contract}/0?${page}`,
    "/v0/search?chain=goerli&text=word",
    "/v0/transactions?chain=goerli",
    `/v0/transactions/accounts/${alice}?chain=goerli`,
    `/v0/transactions/nfts/${contract}?chain=goerli`,
    `/v0/transactions/nfts/${contract}/0?chain=goerli`,
    `/v0/transactions/stats/${contract}?chain=goerli`,
  ];
  const token = "nodes { contractAddress tokenId owner standard contract { standard } }";
  const key_ = `{ chain: "goerli", contract: "${contract}", tokenId: "0" }`;
  const fields = [
    `account(address: "${alice}") { nfts(chain: "goerli") { totalCount ${token} } }`,
    `account(address: "${alice}") { nfts(chain: "goerli", exclude: [ERC1155]) { totalCount ${token} } }`,
    `account(address: "${alice}") { nfts(chain: "goerli", last: 1) { totalCount ${token} } }`,
    `account(address: "${alice}") { acquiredNfts(chains: ["goerli"]) { ${token} } }`,
    `account(address: "${alice}") { contracts(chain: "goerli") { totalCount nodes { tokenCount contract { address } } } }`,
    `account(address: "${alice}") { transfers(chain: "goerli") { nodes { contractAddress tokenId from to } } }`,
    `account(address: "${creator}") { createdNfts(chain: "goerli") { ${token} } }`,
    `chain(name: "goerli") { latestNfts { ${token} } }`,
    `chain(name: "goerli") { transfers(kinds: [MINT, BURN]) { nodes { contractAddress tokenId } } }`,
    `search(text: "word", chain: "goerli") { contractAddress tokenId }`,
    `nftBatch(keys: [${key_}]) { tokenId }`,
    `contract(chain: "goerli", address: "${contract}") { address standard statistics { totalSupply ownerCount tokenCount transferCount }
      nfts { totalCount } owners { totalCount nodes { address } } holders { nodes { address amount } } }`,
    `contract(chain: "goerli", address: "${contract}") { holders(atBlock: "${firstBlock}") { nodes { address tokenId } } }`,
  ];
  const views = ["tokens", "holdings", "holding_rows", "contracts", "account_totals", "transfers"].map(
    (name) => `nft.${name}`,
  );
  const analysed = [
    "tokens",
    "holdings",
    "collections",
    "transfers",
    "mints",
    "daily_activity",
    "holders_distribution",
  ];
  const answers: Record<string, unknown> = {};
  for (const path of paths) {
    const { status, body } = await api.send("GET", path, key);
    if (body.statistics) delete body.statistics.updated_date;
    answers[path] = { status, body: body.error ? { code: body.error.code } : body };
  }
  for (const field of fields) answers[field] = (await api.graphql(key, `{ ${field} }`)).body.data;
  for (const view of [...views, ...analysed.map((name) => `analytics.${name}`)])
    answers[view] = (
      await api.database.pool.query(`SELECT v::text FROM ${view} v WHERE chain_id = 31337 ORDER BY 1`)
    ).rows;
  return answers;
}

test("an ERC-20 that indexes its value is in no list, no total and no view, once that is known and as long as it is", async () => {
  const coin = addressOf(0xa4);
  const word = (tokenId: string) =>
    api.database.pool.query(
      `INSERT INTO service.token_metadata (chain_id, contract, token_id, status, name) VALUES (31337, $1, $2, 'fresh', 'word')`,
      [Buffer.from(coin.slice(2), "hex"), tokenId],
    );
  const without = await everything(coin);
  // Nothing at all, 18 decimals, everything; minted, moved, burned, and from nobody to nobody.
  const values = [0n, 10n ** 18n, 2n ** 256n - 1n];
  const movements = values.flatMap((tokenId) => [
    { ...mint, contract: coin, tokenId },
    { contract: coin, tokenId, from: alice, to: addressOf(0x12) },
    { contract: coin, tokenId, from: alice, to: alice },
  ]);
  await api.nfts.add([
    ...movements,
    { contract: coin, tokenId: 5n, from: alice, to: nobody },
    { contract: coin, tokenId: 5n, from: nobody, to: nobody },
  ]);
  await word("0");
  const taken = await everything(coin);
  for (const read of Object.keys(without)) expect(taken[read], read).not.toEqual(without[read]);

  await api.nfts.findFungible(coin, true);
  expect(await everything(coin)).toEqual(without);
  const flags = async () =>
    (await api.database.pool.query("SELECT contract, flag, count::integer FROM analytics.contract_flags")).rows;
  expect(await flags()).toEqual([{ contract: coin, flag: "fungible", count: 11 }]);
  // What comes later, and a wrong guess that is taken back.
  await api.nfts.add([{ ...mint, contract: coin, tokenId: 6n }]);
  expect(await everything(coin)).toEqual(without);
  const { rows } = await api.database.pool.query(
    "SELECT schemaname AS schema FROM pg_tables WHERE tablename = 'holding' AND schemaname LIKE 'c31337%'",
  );
  await api.database.pool.query(`DELETE FROM "${rows[0].schema}".transfer WHERE contract = $1 AND token_id = 6`, [
    Buffer.from(coin.slice(2), "hex"),
  ]);
  await api.nfts.findFungible(coin, false);
  expect(await everything(coin)).toEqual(taken);
});

test("of a contract with events of both, what is of ERC-20 goes and what is of ERC-1155 stays", async () => {
  const both = addressOf(0xa5);
  const multi = { ...mint, contract: both, tokenId: 7n, amount: 4n, standard: "ERC1155" as const };
  await api.nfts.add([multi]);
  const without = await everything(both);
  await api.nfts.add([
    { ...mint, contract: both, tokenId: 7n },
    { ...mint, contract: both, tokenId: 8n },
  ]);
  expect(await everything(both)).not.toEqual(without);
  await api.nfts.findFungible(both, true);
  expect(await everything(both)).toEqual(without);
});

test("what is not indexed has its reason beside the null, and what is indexed has none", async () => {
  const [coin, kitties] = [0xa6, 0xa7].map(addressOf) as [string, string];
  await api.nfts.add([{ ...mint, contract: coin, tokenId: 10n ** 18n }]);
  const ask = async (address: string, chain = "goerli") => {
    const key_ = `chain: "${chain}", address: "${address}"`;
    const { body } = await api.graphql(key, `{ contract(${key_}) { address } notIndexed(${key_}) { reason message } }`);
    expect(body.errors).toBeUndefined();
    const { contract, notIndexed } = body.data;
    expect(contract === null).toBe(notIndexed !== null);
    return notIndexed && [notIndexed.reason, notIndexed.message];
  };
  for (const address of [single, multi, mixed, coin]) expect(await ask(address)).toBeNull();
  await api.nfts.findFungible(coin, true);
  expect(await ask(coin)).toEqual(["FUNGIBLE", expect.stringMatching(/ERC-20/)]);
  expect(await ask(coin.toUpperCase().replace("0X", "0x"))).toEqual(["FUNGIBLE", expect.anything()]);
  // Whatever else logs otherwise, as with half of its parameters indexed, leaves nothing in the index.
  expect(await ask(kitties)).toEqual(["NO_NFT_LOGS", expect.stringMatching(/CryptoKitties/)]);
  const { body } = await api.send("GET", `/v0/nfts/${kitties}?chain=goerli`, key);
  expect(body.error.message).toBe(`not indexed: ${(await ask(kitties))?.[1]}`);
  // A chain whose index has no block yet, and which has one contract only.
  expect(await ask(single, "ethereum")).toEqual(["INDEX_BEHIND", expect.anything()]);
  expect(await ask(kitties, "ethereum")).toEqual(["OUT_OF_SCOPE", expect.anything()]);
  const behind = async (blocks: number) =>
    await api.database.pool.query(
      `INSERT INTO service.chain_freshness (chain_id, chain_name, schema_name, indexed_block, indexed_timestamp, node_head)
       VALUES (31337, 'goerli', 'c31337_test', 10, 0, 10 + $1) ON CONFLICT (chain_id) DO UPDATE SET node_head = excluded.node_head`,
      [blocks],
    );
  await behind(50);
  expect(await ask(kitties)).toEqual(["NO_NFT_LOGS", expect.anything()]);
  await behind(51);
  expect(await ask(kitties)).toEqual(["INDEX_BEHIND", expect.anything()]);
  expect(await ask(coin)).toEqual(["FUNGIBLE", expect.anything()]);
});
