import { afterAll, beforeAll, expect, test } from "vitest";
import { generate } from "../../bench/reads/generate.ts";
import { ensureNftViews } from "../../src/indexing/nft-views.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { openReadApis, type ReadApis } from "../setup/read-apis.ts";

// Every read of either API, over the data of the read bench at a size where a wrong plan would be chosen if
// it could: the statements that were really sent are explained, once for their values and, when
// they are prepared, once for any.
interface Sent {
  text: string;
  values: unknown[];
  /** Of a prepared statement: it may run by a plan for any values. */
  name?: string | undefined;
}
interface Plan {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Plan Rows": number;
  Plans?: Plan[];
}

let database: TestDatabase;
let apis: ReadApis;
const sent: Sent[] = [];
let whale = "";
let large = "";
let multi = "";
let token = "";

beforeAll(async () => {
  database = await createTestDatabase();
  await generate(database.url, { tokens: 15_000, contracts: 200, accounts: 3_000 }, () => undefined);
  // What was sent is noted where it leaves, whoever built it.
  database.pool.on("connect", (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    client.query = ((...args: unknown[]) => {
      const [first, second] = args;
      const { text, values, name } = (
        typeof first === "string" ? { text: first, values: second } : first
      ) as Partial<Sent>;
      if (text && /^\s*(SELECT|WITH)/i.test(text)) sent.push({ text, values: values ?? [], name });
      return query(...args);
    }) as typeof client.query;
  });
  // So that movements are compared with contracts of ERC-20.
  await database.pool.query("INSERT INTO c31337_bench.fungible VALUES ('\\x00', 'Infinity', 1)");
  await ensureNftViews(database.url);
  apis = openReadApis(database);
  const { reads } = apis.services;
  const { first } = reads;
  reads.first = (text, values, once) => {
    sent.push({ text, values: [...values], name: once ? undefined : "prepared" });
    return first(text, values, once);
  };
  const one = async (sql: string) => String((await database.pool.query(sql)).rows[0]?.found);
  const hex = (column: string) => `'0x' || encode(${column}, 'hex') AS found`;
  whale = await one(`SELECT ${hex("owner")} FROM nft.account_totals ORDER BY holding_count DESC LIMIT 1`);
  large = await one(
    `SELECT ${hex("address")} FROM nft.contracts WHERE standard = 'ERC721' ORDER BY token_count DESC LIMIT 1`,
  );
  multi = await one(
    `SELECT ${hex("address")} FROM nft.contracts WHERE standard = 'ERC1155' ORDER BY token_count DESC LIMIT 1`,
  );
  const ofLarge = `contract = decode(substr('${large}', 3), 'hex')`;
  token = await one(
    `SELECT token_id::text AS found FROM nft.tokens WHERE ${ofLarge} AND supply > 0 ORDER BY token_id OFFSET 500 LIMIT 1`,
  );
});
afterAll(() => database?.drop());

/** Tables with a row for each token, holder or movement; the others have one per chain, contract or caller. */
const big = /^(token|transfer|holding|account_total|token_metadata|token_trait|token_words|upload|intent)$/;
const mostSorted = 1_500;

function faultsOf(plan: Plan): string[] {
  const relation = plan["Relation Name"] ?? "";
  const here = [
    ...(plan["Node Type"] === "Seq Scan" && big.test(relation) ? [`reads all of ${relation}`] : []),
    ...(plan["Node Type"] === "Sort" && plan["Plan Rows"] > mostSorted ? [`sorts ${plan["Plan Rows"]} rows`] : []),
  ];
  return [...here, ...(plan.Plans ?? []).flatMap(faultsOf)];
}

async function explain({ text, values, name }: Sent): Promise<string[]> {
  type Row = { "QUERY PLAN": [{ Plan: Plan }] };
  const own = await database.pool.query<Row>(`EXPLAIN (FORMAT JSON) ${text}`, values);
  const any = name && (await database.pool.query<Row>(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`));
  return [own, ...(any ? [any] : [])].flatMap(({ rows }, index) => {
    const plan = rows[0]?.["QUERY PLAN"][0].Plan;
    return plan
      ? faultsOf(plan).map((fault) => `${index === 0 ? "with its values" : "for any values"}: ${fault}`)
      : ["no plan"];
  });
}

const item = "tokenId name metadata contract { name }";
const page = "pageInfo { endCursor hasNextPage }";
const reads: Record<string, () => string> = {
  "an account's page": () => `/accounts/${whale}?chain=goerli&include=metadata&include=contract_information`,
  "an account's page of one kind": () => `/accounts/${whale}?chain=goerli&exclude=erc1155`,
  "an account's page in a contract": () => `/accounts/${whale}?chain=goerli&contract_address=${large}`,
  "an account's second page by number": () => `/accounts/${whale}?chain=goerli&page_number=2`,
  "an account's contracts": () => `/accounts/contracts/${whale}?chain=goerli`,
  "what an account created": () => `/accounts/creators/${whale}?chain=goerli`,
  "a contract's page": () => `/nfts/${large}?chain=goerli&include=all`,
  "a chain's page": () => "/nfts?chain=goerli&include=all",
  "a token": () => `/nfts/${large}/${token}?chain=goerli`,
  "movements of an account": () => `/transactions/accounts/${whale}?chain=goerli`,
  "mints and transfers of an account": () => `/transactions/accounts/${whale}?chain=goerli&type=mint,transfer_from`,
  "movements of a contract": () => `/transactions/nfts/${large}?chain=goerli`,
  "movements of a token": () => `/transactions/nfts/${large}/${token}?chain=goerli`,
  "a search": () => `/search?chain=goerli&text=piece+%23${token}`,
  "graphql: an account's page": () =>
    `{ account(address: "${whale}") { nfts(chain: "goerli", first: 50) { nodes { ${item} } ${page} totalCount } } }`,
  "graphql: an account's last page": () =>
    `{ account(address: "${whale}") { nfts(chain: "goerli", last: 20) { nodes { ${item} } ${page} } } }`,
  "graphql: what an account acquired": () =>
    `{ account(address: "${whale}") { acquiredNfts(chains: ["goerli"], first: 20) { nodes { ${item} } ${page} } } }`,
  "graphql: what an account created": () =>
    `{ account(address: "${whale}") { createdNfts(chain: "goerli", first: 20) { nodes { ${item} } ${page} } } }`,
  "graphql: a contract's page": () =>
    `{ contract(chain: "goerli", address: "${large}") { nfts(first: 50) { nodes { ${item} } ${page} totalCount } } }`,
  "graphql: a chain's page": () => `{ chain(name: "goerli") { latestNfts(first: 50) { nodes { ${item} } ${page} } } }`,
  "graphql: a trait page": () =>
    `{ contract(chain: "goerli", address: "${large}") { nfts(first: 20, traits: { name: "Hat", values: ["3"] }) { nodes { ${item} } ${page} } } }`,
  "graphql: a page of two traits": () =>
    `{ contract(chain: "goerli", address: "${large}") { nfts(first: 20, traits: { and: [{ name: "Hat", values: ["3"] }, { name: "Level", min: 40, max: 60 }], not: { name: "Fur", values: ["1"] } }) { nodes { ${item} } } } }`,
  "graphql: holders of a contract": () =>
    `{ contract(chain: "goerli", address: "${large}") { holders(first: 50) { nodes { tokenId address amount } ${page} } } }`,
  "graphql: holders of many": () =>
    `{ contract(chain: "goerli", address: "${multi}") { holders(first: 50) { nodes { tokenId address amount } ${page} } } }`,
  "graphql: holders at a block": () =>
    `{ contract(chain: "goerli", address: "${large}") { holders(atBlock: "1200", first: 50) { nodes { tokenId address amount } ${page} } } }`,
  "graphql: owners": () =>
    `{ contract(chain: "goerli", address: "${large}") { owners(first: 50) { nodes { address tokenCount } ${page} } } }`,
  "graphql: newest movements": () =>
    `{ chain(name: "goerli") { transfers(first: 20) { nodes { tokenId from to } ${page} } } }`,
  "graphql: mints since a time": () =>
    `{ chain(name: "goerli") { transfers(kinds: [MINT], since: "2020-01-01T00:00:00Z", first: 20) { nodes { tokenId } ${page} } } }`,
  "graphql: movements of an account": () =>
    `{ account(address: "${whale}") { transfers(chain: "goerli", first: 20) { nodes { tokenId } ${page} } } }`,
  "graphql: many tokens": () =>
    `{ nftBatch(keys: [{ chain: "goerli", contract: "${large}", tokenId: "${token}" }]) { ${item} } }`,
  "graphql: a search": () => `{ search(chain: "goerli", text: "Piece #${token}", first: 5) { tokenId name } }`,
  "graphql: a search in a contract": () =>
    `{ search(chain: "goerli", text: "Piece ${token}", contract: "${large}", first: 5) { tokenId name } }`,
  "graphql: a contract": () => `{ contract(chain: "goerli", address: "${large}") { name } }`,
};

test.each(Object.entries(reads))("%s: its statement walks indexes", async (_name, request) => {
  sent.length = 0;
  const ask = request();
  if (ask.startsWith("{")) {
    const { data, code } = await apis.graphql(ask);
    expect([code, data !== null]).toEqual([undefined, true]);
  } else {
    expect((await apis.v0(ask)).status).toBe(200);
  }
  const statements = sent.filter(({ text }) => /nft"?\.|service"?\./.test(text));
  // A list of a contract comes after the contract.
  expect(statements.length).toBe(/^\{ contract\(.*\{ (nfts|owners|holders)/.test(ask) ? 2 : 1);
  const faults = await Promise.all(statements.map(explain));
  expect(faults.flat()).toEqual([]);
});

test("the check can fail: a list without an index to walk is seen", async () => {
  const text = "SELECT token_id FROM nft.tokens WHERE chain_id = $1 ORDER BY mint_tx LIMIT 10";
  expect(await explain({ text, values: [31337] })).toContain("with its values: reads all of token");
});
