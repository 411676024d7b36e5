import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createIndexedDatabase, type TestDatabase } from "../setup/database.ts";
import { addressOf, type Movement, type NftFixture, nobody } from "../setup/nft-fixture.ts";
import { openReadApis, type ReadApis } from "../setup/read-apis.ts";

const [keys, potions] = [0xa1, 0xb2].map(addressOf) as [string, string];
const people = [0x11, 0x22, 0x33, 0x44].map(addressOf);
const [alice = "", bob = ""] = people;
const chains = ["goerli", "polygon"] as const;

interface Past extends Movement {
  chain: (typeof chains)[number];
  block: number;
}

let database: TestDatabase;
let apis: ReadApis;
let fixtures: NftFixture[];
const past: Past[] = [];
let now = 1_700_000_000;

/** A chain of numbers that looks random and is the same in each run. */
function sequence(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

async function add(chain: Past["chain"], movements: Movement[]): Promise<number> {
  now += 7;
  const stamped = movements.map((one) => ({ ...one, timestamp: now }));
  const block = (await fixtures[chains.indexOf(chain)]?.add(stamped)) ?? 0;
  past.push(...stamped.map((one) => ({ ...one, chain, block })));
  return block;
}

/** Balances by replaying the movements: `chain/contract/token/owner` to amount. */
function balances(keep: (one: Past) => boolean = () => true): Map<string, bigint> {
  const held = new Map<string, bigint>();
  const change = (one: Past, owner: string, by: bigint) => {
    const key = `${one.chain}/${one.contract}/${one.tokenId}/${owner}`;
    held.set(key, (held.get(key) ?? 0n) + by);
  };
  for (const one of past.filter(keep)) {
    if (one.from !== nobody) change(one, one.from, -(one.amount ?? 1n));
    if (one.to !== nobody) change(one, one.to, one.amount ?? 1n);
  }
  return new Map([...held].filter(([, amount]) => amount > 0n));
}

beforeAll(async () => {
  ({ database, nfts: fixtures } = await createIndexedDatabase([31337, 31338]));
  const random = sequence(7);
  for (let step = 0; step < 60; step += 1) {
    const chain = chains[random(2)] ?? "goerli";
    const held = [...balances((one) => one.chain === chain)];
    const moves: Movement[] = [];
    for (let move = 0; move < 1 + random(3); move += 1) {
      const to = people[random(people.length)] ?? alice;
      const [entry, amount = 1n] = held.splice(random(held.length || 1), 1)[0] ?? [];
      const [, contract = "", id = "0", from = ""] = entry?.split("/") ?? [];
      const standard = contract === potions ? ("ERC1155" as const) : ("ERC721" as const);
      if (entry && random(3) > 0) {
        const part = standard === "ERC1155" ? 1n + BigInt(random(Number(amount))) : 1n;
        moves.push({ contract, tokenId: BigInt(id), from, to: random(6) === 0 ? nobody : to, amount: part, standard });
      } else if (random(2) === 0) {
        moves.push({ contract: keys, tokenId: BigInt(step * 10 + move), from: nobody, to });
      } else {
        moves.push({
          contract: potions,
          tokenId: BigInt(random(4)),
          from: nobody,
          to,
          amount: 5n,
          standard: "ERC1155",
        });
      }
    }
    await add(chain, moves);
  }
  apis = openReadApis(database);
});
afterAll(() => database.drop());

type Json = ReturnType<typeof JSON.parse>;

async function ask(source: string, variables: Record<string, unknown> = {}): Promise<Json> {
  const { data, code } = await apis.graphql(source, variables);
  expect([source, code]).toEqual([source, undefined]);
  return data;
}

/** Walks a connection in pages, forwards or backwards; `between` runs between two pages. */
async function walk(
  field: (page: string) => string,
  nodes: string,
  options: { backward?: boolean; between?: () => Promise<unknown>; size?: number } = {},
): Promise<Json[]> {
  const seen: Json[] = [];
  let cursor = "";
  const [count, from] = options.backward ? ["last", "before"] : ["first", "after"];
  for (let page = 0; page < 200; page += 1) {
    const at = `${count}: ${options.size ?? 3}${cursor ? `, ${from}: "${cursor}"` : ""}`;
    const data = await ask(
      `{ ${field(at)} }`.replace(
        "NODES",
        `{ nodes { ${nodes} } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }`,
      ),
    );
    let connection = Object.values(data as Record<string, Json>)[0];
    if (!connection.pageInfo) connection = Object.values(connection as Record<string, Json>)[0];
    if (options.backward) seen.unshift(...connection.nodes);
    else seen.push(...connection.nodes);
    const { pageInfo } = connection;
    if (!(options.backward ? pageInfo.hasPreviousPage : pageInfo.hasNextPage)) break;
    cursor = options.backward ? pageInfo.startCursor : pageInfo.endCursor;
    await options.between?.();
  }
  return seen;
}

describe("walk equals set", () => {
  const nft = "chain contractAddress tokenId amount";
  const transferFields = "chain kind contractAddress tokenId from to amount blockNumber logIndex";
  const short = (one: Json) => `${one.chain}/${one.contractAddress}/${one.tokenId}/${one.amount}`;

  test.each(people)("what %s holds on both chains, last acquired first", async (account) => {
    const held = balances();
    const expected = [
      ...new Map(
        past.filter((one) => one.to === account).map((one) => [`${one.chain}/${one.contract}/${one.tokenId}`, one]),
      ),
    ]
      .filter(([key]) => held.has(`${key}/${account}`))
      .map(([key, one]) => ({ key: `${key}/${held.get(`${key}/${account}`)}`, place: past.lastIndexOf(one) }))
      .sort((a, b) => b.place - a.place)
      .map(({ key }) => key);
    const field = (page: string) => `account(address: "${account}") { acquiredNfts(${page}) NODES }`;
    expect(expected.length).toBeGreaterThan(2);
    expect((await walk(field, nft)).map(short)).toEqual(expected);
    expect((await walk(field, nft, { backward: true })).map(short)).toEqual(expected);
    const filtered = (page: string) =>
      `account(address: "${account}") { acquiredNfts(chains: ["polygon"], contracts: ["${keys}"], exclude: [ERC1155], ${page}) NODES }`;
    expect((await walk(filtered, nft)).map(short)).toEqual(expected.filter((key) => key.startsWith(`polygon/${keys}`)));
  });

  test.each(chains)("the owners of a contract on %s, each once", async (chain) => {
    for (const contract of [keys, potions]) {
      const counts = new Map<string, number>();
      for (const key of balances().keys()) {
        const [onChain, ofContract, , owner = ""] = key.split("/");
        if (onChain === chain && ofContract === contract) counts.set(owner, (counts.get(owner) ?? 0) + 1);
      }
      const expected = [...counts]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([address, tokenCount]) => ({ address, tokenCount }));
      const field = (page: string) => `contract(chain: "${chain}", address: "${contract}") { owners(${page}) NODES }`;
      expect(await walk(field, "address tokenCount", { size: 2 })).toEqual(expected);
      expect(await walk(field, "address tokenCount", { size: 2, backward: true })).toEqual(expected);
      const {
        contract: { owners },
      } = await ask(`{ contract(chain: "${chain}", address: "${contract}") { owners { totalCount } } }`);
      expect(owners.totalCount).toBe(expected.length);
    }
  });

  test.each([0.3, 0.6, 1])("the holders as they were at a block, and now (%d)", async (share) => {
    for (const chain of chains) {
      const blocks = past.filter((one) => one.chain === chain).map((one) => one.block);
      const block = blocks[Math.floor((blocks.length - 1) * share)] ?? 0;
      for (const contract of [keys, potions]) {
        const expected = [...balances((one) => one.chain === chain && one.contract === contract && one.block <= block)]
          .map(([key, amount]) => {
            const [, , tokenId = "", address = ""] = key.split("/");
            return { tokenId, address, amount: String(amount) };
          })
          .sort((a, b) => Number(BigInt(a.tokenId) - BigInt(b.tokenId)) || (a.address < b.address ? -1 : 1));
        const at = share === 1 ? "" : `atBlock: "${block}", `;
        const field = (page: string) =>
          `contract(chain: "${chain}", address: "${contract}") { holders(${at}${page}) NODES }`;
        expect(await walk(field, "tokenId address amount")).toEqual(expected);
        expect(await walk(field, "tokenId address amount", { backward: true })).toEqual(expected);
      }
    }
  });

  test("transfers of a chain in a range of blocks and of time", async () => {
    const mine = past.filter((one) => one.chain === "goerli");
    const [low, high] = [mine[5]?.block ?? 0, mine[20]?.block ?? 0];
    const [since, until] = [mine[5]?.timestamp ?? 0, mine[20]?.timestamp ?? 0];
    const expected = mine
      .filter((one) => one.block >= low && one.block <= high)
      .map((one) => `${one.chain}/${one.contract}/${one.tokenId}/${one.amount ?? 1n}`)
      .reverse();
    const byBlock = (page: string) =>
      `chain(name: "goerli") { transfers(fromBlock: "${low}", toBlock: "${high}", ${page}) NODES }`;
    const time = (seconds: number) => new Date(seconds * 1000).toISOString();
    const byTime = (page: string) =>
      `chain(name: "goerli") { transfers(since: "${time(since)}", until: "${time(until)}", ${page}) NODES }`;
    const sorted = (rows: Json[]) => rows.map(short).toSorted();
    expect(sorted(await walk(byBlock, transferFields))).toEqual(expected.toSorted());
    expect(sorted(await walk(byTime, transferFields, { backward: true }))).toEqual(expected.toSorted());
    const rows = await walk(byBlock, transferFields);
    const places = rows.map((row) => Number(row.blockNumber) * 100 + row.logIndex);
    expect(places).toEqual(places.toSorted((a, b) => b - a));
  });

  test("under concurrent inserts: all that was there is seen once, whatever comes in between", async () => {
    const lists: [name: string, field: (page: string) => string, nodes: string, key: (one: Json) => string][] = [
      [
        "acquired",
        (page) => `account(address: "${alice}") { acquiredNfts(${page}) NODES }`,
        nft,
        (one) => `${one.chain}/${one.contractAddress}/${one.tokenId}`,
      ],
      [
        "of a chain",
        (page) => `chain(name: "goerli") { latestNfts(${page}) NODES }`,
        nft,
        (one) => `${one.contractAddress}/${one.tokenId}`,
      ],
      [
        "of a contract",
        (page) => `contract(chain: "goerli", address: "${keys}") { nfts(${page}) NODES }`,
        nft,
        (one) => one.tokenId,
      ],
      [
        "of an account",
        (page) => `account(address: "${alice}") { nfts(chain: "goerli", ${page}) NODES }`,
        nft,
        (one) => `${one.contractAddress}/${one.tokenId}`,
      ],
      [
        "transfers",
        (page) => `chain(name: "goerli") { transfers(${page}) NODES }`,
        transferFields,
        (one) => `${one.blockNumber}/${one.logIndex}`,
      ],
      [
        "owners",
        (page) => `contract(chain: "goerli", address: "${keys}") { owners(${page}) NODES }`,
        "address",
        (one) => one.address,
      ],
      [
        "holders",
        (page) => `contract(chain: "goerli", address: "${potions}") { holders(${page}) NODES }`,
        "tokenId address",
        (one) => `${one.tokenId}/${one.address}`,
      ],
      [
        "contracts",
        (page) => `account(address: "${alice}") { contracts(chain: "goerli", ${page}) NODES }`,
        "contract { address }",
        (one) => one.contract.address,
      ],
    ];
    let fresh = 10_000n;
    const between = async () => {
      fresh += 1n;
      const strange = addressOf(Number(0x50n + (fresh % 40n)));
      await add("goerli", [
        { contract: keys, tokenId: fresh, from: nobody, to: alice },
        { contract: strange, tokenId: fresh, from: nobody, to: alice },
        { contract: potions, tokenId: fresh, from: nobody, to: strange, amount: 2n, standard: "ERC1155" },
        { contract: keys, tokenId: 20_000n + fresh, from: nobody, to: strange },
      ]);
    };
    for (const [name, field, nodes, key] of lists) {
      const before = (await walk(field, nodes, { size: 100 })).map(key);
      let pages = 0;
      const during = (
        await walk(field, nodes, { size: 4, between: async () => (pages++ < 8 ? await between() : undefined) })
      ).map(key);
      expect([name, new Set(during).size]).toEqual([name, during.length]);
      expect([name, before.filter((one) => !during.includes(one))]).toEqual([name, []]);
    }
  });
});

describe("traits", () => {
  const documents = [
    { Fur: "gold", Level: 3, Hat: "none" },
    { Fur: "gold", Level: 12 },
    { Fur: "grey", Level: 12.5, Hat: "crown" },
    { Fur: "grey" },
  ];
  const contract = addressOf(0xe1);
  beforeAll(async () => {
    await add(
      "goerli",
      documents.map((_, id) => ({ contract, tokenId: BigInt(id), from: nobody, to: bob })),
    );
    for (const [id, traits] of documents.entries()) {
      const attributes = Object.entries(traits).map(([trait_type, value]) => ({ trait_type, value }));
      const row = { chain_id: 31337, contract: Buffer.alloc(20, 0xe1), token_id: String(id), metadata: "{}" };
      await database.db.insertInto("service.token_metadata").values(row).execute();
      await database.db
        .updateTable("service.token_metadata")
        .set({ metadata: JSON.stringify({ name: `#${id}`, attributes }) })
        .where("contract", "=", row.contract)
        .where("token_id", "=", row.token_id)
        .execute();
    }
  });

  test.each([
    ['{ name: "Fur", values: ["gold"] }', [0, 1]],
    ['{ name: "Fur", values: ["gold", "grey"] }', [0, 1, 2, 3]],
    ['{ name: "Hat" }', [0, 2]],
    ['{ not: { name: "Hat" } }', [1, 3]],
    ['{ name: "Level", min: 12 }', [1, 2]],
    ['{ name: "Level", min: 3, max: 12 }', [0, 1]],
    ['{ and: [{ name: "Fur", values: ["gold"] }, { name: "Level", max: 5 }] }', [0]],
    ['{ or: [{ name: "Hat", values: ["crown"] }, { name: "Level", max: 5 }] }', [0, 2]],
    ["{ or: [] }", []],
    ['{ name: "Fur", values: [] }', []],
    ['{ name: "Fur", values: ["grey"], not: { or: [{ name: "Hat" }] } }', [3]],
    ["{}", [0, 1, 2, 3]],
  ])("%s", async (filter, expected) => {
    const {
      contract: { nfts },
    } = await ask(
      `{ contract(chain: "goerli", address: "${contract}") { nfts(traits: ${filter}) { nodes { tokenId } totalCount } } }`,
    );
    expect(nfts.nodes.map((one: Json) => Number(one.tokenId))).toEqual(expected);
    expect(nfts.totalCount).toBeNull();
  });

  test("the summary counts each value", async () => {
    const {
      contract: { traits },
    } = await ask(
      `{ contract(chain: "goerli", address: "${contract}") { traits { name tokenCount values { value tokenCount } } } }`,
    );
    expect(traits).toEqual([
      {
        name: "Fur",
        tokenCount: 4,
        values: [
          { value: "gold", tokenCount: 2 },
          { value: "grey", tokenCount: 2 },
        ],
      },
      {
        name: "Hat",
        tokenCount: 2,
        values: [
          { value: "crown", tokenCount: 1 },
          { value: "none", tokenCount: 1 },
        ],
      },
      { name: "Level", tokenCount: 3, values: ["12", "12.5", "3"].map((value) => ({ value, tokenCount: 1 })) },
    ]);
  });

  test("a filter without a name, with an owner, or too long is refused", async () => {
    const code = async (args: string) =>
      (
        await apis.graphql(
          `{ contract(chain: "goerli", address: "${contract}") { nfts(${args}) { nodes { tokenId } } } }`,
        )
      ).code;
    expect(await code(`traits: { values: ["x"] }`)).toBe("value_error");
    expect(await code(`owner: "${bob}", traits: { name: "Fur" }`)).toBe("value_error");
    const many = Array.from({ length: 31 }, () => '{ name: "a" }').join(", ");
    expect(await code(`traits: { or: [${many}] }`)).toBe("value_error");
  });

  test.each([
    ['{"attributes":[{"trait_type":"a","value":"\\u0000"}]}', ["a="]],
    ['{"attributes":[{"trait_type":"a","value":1e999999}]}', ["a=1e999999"]],
    ['{"attributes":{"Fur":"red","Level":2}}', ["Fur=red", "Level=2"]],
    ['{"traits":[{"name":"Fur","value":true},{"value":"x"},{"trait_type":"y","value":{}},7,null]}', ["=x", "Fur=true"]],
    ['{"attributes":"none"}', []],
    ["[1]", []],
  ])("the document %s has the traits %j", async (document, expected) => {
    const { rows } = await database.pool.query(
      "SELECT name || '=' || value AS t FROM service.traits_of($1) ORDER BY 1",
      [document],
    );
    expect(rows.map((row) => row.t)).toEqual(expected);
  });
});

test("nodes and batches: one result for each input, in order, and ids lead back to the same node", async () => {
  const {
    contract: { nfts },
  } = await ask(`{ contract(chain: "goerli", address: "${keys}") { nfts(first: 2) { nodes { id tokenId } } } }`);
  const [first, second] = nfts.nodes;
  const { nodes, node } = await ask(
    `query ($ids: [ID!]!, $id: ID!) { nodes(ids: $ids) { __typename id ... on Nft { tokenId } } node(id: $id) { id ... on Contract { address } } }`,
    {
      ids: [second.id, first.id, Buffer.from(`Nft:goerli:${keys}:999999`).toString("base64url")],
      id: Buffer.from(`Contract:goerli:${potions}`).toString("base64url"),
    },
  );
  expect(nodes).toEqual([{ __typename: "Nft", ...second }, { __typename: "Nft", ...first }, null]);
  expect(node.address).toBe(potions);
  const { nftBatch } = await ask(
    `{ nftBatch(keys: [
      { chain: "polygon", contract: "${keys}", tokenId: "999999" }, { chain: "goerli", contract: "${keys}", tokenId: "${first.tokenId}" },
      { chain: "goerli", contract: "${keys}", tokenId: "${first.tokenId}" }]) { id contract { address } } }`,
  );
  expect(nftBatch.map((one: Json) => one?.id ?? null)).toEqual([null, first.id, first.id]);
  for (const id of [
    "x",
    Buffer.from("Nft:goerli:0x1:1").toString("base64url"),
    Buffer.from("Root:1").toString("base64url"),
  ]) {
    expect((await apis.graphql("query ($id: ID!) { node(id: $id) { id } }", { id })).code).toBe("value_error");
  }
});

test("a block that the index has not reached is refused, not answered from what there is", async () => {
  const { code } = await apis.graphql(
    `{ contract(chain: "goerli", address: "${keys}") { holders(atBlock: "99999999") { nodes { address } } } }`,
  );
  expect(code).toBe("value_error");
});

test("both APIs: the same rows by the same statement, and the same code for what is refused", async () => {
  const items = (body: Json): Json[] =>
    (body.transactions ?? body.contracts ?? body.search_results ?? [body.statistics]) as Json[];
  const reads: [path: string, query: string, rest: (one: Json) => unknown, graph: (one: Json) => unknown][] = [
    [
      `/transactions/accounts/${alice}?chain=goerli&type=mint&page_size=5`,
      `account(address: "${alice}") { transfers(chain: "goerli", kinds: [MINT], first: 5) { nodes { tokenId transactionHash } } }`,
      (one) => [one.token_id, one.transaction_hash],
      (one) => [one.tokenId, one.transactionHash],
    ],
    [
      `/transactions/nfts/${potions}/1?chain=polygon&page_size=5`,
      `nft(chain: "polygon", contract: "${potions}", tokenId: "1") { transfers(first: 5) { nodes { blockNumber amount } } }`,
      (one) => [String(one.block_number), String(one.quantity)],
      (one) => [one.blockNumber, one.amount],
    ],
    [
      `/accounts/contracts/${alice}?chain=goerli&page_size=5`,
      `account(address: "${alice}") { contracts(chain: "goerli", first: 5) { nodes { tokenCount contract { address } } } }`,
      (one) => [one.num_nfts_owned, one.address],
      (one) => [one.tokenCount, one.contract.address],
    ],
    [
      `/transactions/stats/${keys}?chain=goerli`,
      `contract(chain: "goerli", address: "${keys}") { statistics { ownerCount totalMinted } }`,
      (one) => [one.num_owners, String(one.total_minted)],
      (one) => [one.ownerCount, one.totalMinted],
    ],
    [
      "/search?chain=goerli&text=nothing&page_size=5",
      `search(chain: "goerli", text: "nothing", first: 5) { tokenId }`,
      (one) => one.token_id,
      (one) => one.tokenId,
    ],
  ];
  for (const [path, query, rest, graph] of reads) {
    apis.takeStatements();
    const { body } = await apis.v0(path);
    const legacy = apis.takeStatements();
    const data = await ask(`{ ${query} }`);
    // The object that has the list is read before it.
    expect(apis.takeStatements().slice(-1)).toEqual(legacy);
    expect(legacy).toHaveLength(1);
    const [found] = Object.values(data as Record<string, Json>);
    const list: Json = found.transfers ?? found.contracts ?? found.statistics ?? found;
    const nodes: Json[] = list.nodes ?? [list].flat();
    expect(nodes.map(graph)).toEqual(items(body).map(rest));
  }
  const refused: [path: string, query: string][] = [
    [
      `/nfts/${addressOf(0xee)}/1?chain=goerli`,
      `nft(chain: "goerli", contract: "${addressOf(0xee)}", tokenId: 1) { name }`,
    ],
    [
      `/transactions/nfts/${keys}?chain=mars`,
      `contract(chain: "mars", address: "${keys}") { transfers { nodes { tokenId } } }`,
    ],
    [
      `/transactions/nfts/${keys}?chain=ethereum`,
      `contract(chain: "ethereum", address: "${keys}") { transfers { nodes { tokenId } } }`,
    ],
    [
      `/accounts/contracts/${alice}?chain=goerli&continuation=x`,
      `account(address: "${alice}") { contracts(chain: "goerli", after: "x") { nodes { tokenCount } } }`,
    ],
    ["/search?text=%26", `search(text: "&") { tokenId }`],
  ];
  for (const [path, query] of refused) {
    const { body } = await apis.v0(path);
    expect([query, (await apis.graphql(`{ ${query} }`)).code]).toEqual([query, body.error.code]);
  }
});

test("statistics tell the tokens that the index withholds, also of a contract that has no others", async () => {
  const flooded = addressOf(0xe7);
  const read = `{ contract(chain: "goerli", address: "${flooded}") { statistics { tokenCount ownerCount withheldTokens } } }`;
  expect(await ask(read)).toEqual({ contract: null });
  await database.pool.query("INSERT INTO c31337_test.contract_flag VALUES ($1, 'withheld', 20000)", [
    Buffer.from(flooded.slice(2), "hex"),
  ]);
  expect(await ask(read)).toEqual({
    contract: { statistics: { tokenCount: 0, ownerCount: 0, withheldTokens: "20000" } },
  });
  expect(await ask(`{ contract(chain: "goerli", address: "${keys}") { statistics { withheldTokens } } }`)).toEqual({
    contract: { statistics: { withheldTokens: "0" } },
  });
});
