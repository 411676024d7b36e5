import { getOperationAST, parse } from "graphql";
import type pg from "pg";
import { loadConfig } from "../../src/config/config.ts";
import { compilePlan } from "../../src/graphql/fast-path/compile-plan.ts";
import { createSchema } from "../../src/graphql/schema.ts";
import { accountPage, contractPage, nftDetails } from "../../src/nfts/json-lists.ts";
import { createServices } from "../../src/processes/create-services.ts";
import { accountItemShape, contractMembers, detailsShape, listItemShape } from "../../src/rest/token-shape.ts";
import type { BareRead } from "./bare-server.ts";

export interface Scenario {
  name: string;
  url: string;
  requests: { method: "GET" | "POST"; path: string; headers: Record<string, string>; body?: string }[];
  /** The same answers from the bare server, in the same order. */
  bare: BareRead[];
  /** Requests to other servers for the same data; bodies of POST /graphql. */
  peers?: Record<string, string[]>;
}

const keysEach = 20;
const fields = `chain contractAddress tokenId standard owner amount creator mintedAt name description metadataUrl metadata
  fileUrl animationUrl cachedFileUrl metadataUpdatedAt contract { address name symbol standard description }`;
const queries = {
  account: `query ($a: Address!) { account(address: $a) { nfts(chain: "goerli", first: 50) { nodes { ${fields} } pageInfo { hasNextPage endCursor } totalCount } } }`,
  contract: `query ($c: Address!, $after: String) { contract(chain: "goerli", address: $c) { nfts(first: 50, after: $after) { nodes { ${fields} } pageInfo { hasNextPage endCursor } totalCount } } }`,
  chain: `{ chain(name: "goerli") { latestNfts(first: 50) { nodes { ${fields} } pageInfo { hasNextPage endCursor } } } }`,
  traits: `query ($c: Address!, $v: [String!]!) { contract(chain: "goerli", address: $c) { nfts(first: 50, traits: { name: "Hat", values: $v }) { nodes { ${fields} } pageInfo { hasNextPage endCursor } } } }`,
  nested: `query ($c: Address!, $a: Address!, $t: TokenId!) {
    nft(chain: "goerli", contract: $c, tokenId: $t) { ${fields} fileInformation { width height } }
    contract(chain: "goerli", address: $c) { name symbol standard nfts(first: 20) { nodes { ${fields} } totalCount } }
    account(address: $a) { nfts(chain: "goerli", first: 20) { nodes { ${fields} } totalCount } } }`,
  detail: `query ($c: Address!, $t: TokenId!) { nft(chain: "goerli", contract: $c, tokenId: $t) { ${fields} } }`,
};

const record = "address name symbol standard description";
const document = "name description tokenUri metadata image animationUrl cachedImage";
const peerFields = `contract tokenId standard owner supply creator mintTimestamp document { ${document} } record { ${record} }`;
const postgraphile = (name: string, argument: string) =>
  `query ($a: String!) { ${name}(${argument}: $a, first: 50) { nodes { ${peerFields} } pageInfo { hasNextPage endCursor } totalCount } }`;
const ponder = (filter: string) =>
  `query ($a: String!) { tokens(where: { ${filter} }, orderBy: "tokenId", limit: 50) { items { ${peerFields} } pageInfo { hasNextPage endCursor } totalCount } }`;
const mercurius = (name: string) =>
  `query ($a: String!) { ${name}(address: $a) { nodes { ${fields} } hasNextPage totalCount } }`;

/** The same pages in the peers' own schemas. */
function peersOf(addresses: string[], queries: Record<"postgraphile" | "mercurius" | "ponder", string>) {
  return Object.fromEntries(
    Object.entries(queries).map(([name, query]) => [
      name,
      addresses.map((a) => JSON.stringify({ query, variables: { a: name === "ponder" ? a.replace("0x", "\\x") : a } })),
    ]),
  );
}

/** Selects accounts and contracts with full pages, and records our answers and how a bare server would give them. */
export async function makeScenarios(
  databaseUrl: string,
  client: pg.Client,
  base: string,
  key: string,
): Promise<Scenario[]> {
  const config = loadConfig({
    ...{ DATABASE_URL: databaseUrl, RPC_URL_GOERLI: "http://127.0.0.1:9", CHAIN_ID_GOERLI: "31337" },
    // The API's own, because cursors are signed with it.
    ...{ PUBLIC_URL: base, LOG_LEVEL: "silent", KEY_PEPPER: "of the tests" },
  });
  const services = createServices(config, "bench");
  let heard: { text: string; values: unknown[] }[] = [];
  const { first } = services.reads;
  services.reads.first = (text, values, once) => {
    heard.push({ text, values: [...values] });
    return first(text, values, once);
  };
  const caller = { accountId: "bench", tier: "enterprise" as const, requestId: "bench" };
  const schema = createSchema();
  const hex = (bytes: Buffer) => `0x${bytes.toString("hex")}`;
  const accounts = await client.query(
    "SELECT owner FROM nft.account_totals WHERE standard = 'ERC721' AND holding_count >= 60 ORDER BY holding_count LIMIT $1",
    [keysEach],
  );
  const whales = await client.query(
    "SELECT owner FROM nft.account_totals WHERE standard = 'ERC721' ORDER BY holding_count DESC LIMIT $1",
    [keysEach],
  );
  const contracts = await client.query(
    "SELECT address, token_count FROM nft.contracts WHERE token_count > 200 AND standard = 'ERC721' ORDER BY token_count DESC LIMIT $1",
    [keysEach],
  );
  const headers = { Authorization: key, "Content-Type": "application/json" };

  async function bareOf(body: string, columns: string[]): Promise<BareRead> {
    // It sends the statements' results unchanged; composing an answer from them is the work that our server adds.
    const bare: BareRead = { statements: [], texts: [] };
    for (const [index, { text, values }] of heard.entries()) {
      const column = columns[index] ?? "items";
      const { rows } = await client.query(text, values as never[]);
      if (!rows[0]?.[column]) throw new Error(`the statement gave nothing: ${body.slice(0, 200)}`);
      const sent = values.map((value) => (Buffer.isBuffer(value) ? `\\x${value.toString("hex")}` : String(value)));
      bare.statements.push({
        text,
        values: values.map((value, at) => (Array.isArray(value) ? `{${value.join(",")}}` : (sent[at] ?? ""))),
        column,
      });
      bare.texts.push("");
    }
    return bare;
  }

  async function ask(request: Scenario["requests"][number]): Promise<string> {
    const init = { method: request.method, headers: request.headers };
    const response = await fetch(
      base + request.path,
      request.body === undefined ? init : { ...init, body: request.body },
    );
    const text = await response.text();
    if (response.status !== 200 || text.startsWith('{"errors"')) throw new Error(text.slice(0, 500));
    return text;
  }

  async function graphql(
    name: string,
    query: string,
    variables: Record<string, unknown>[],
    columns = ["items"],
  ): Promise<Scenario> {
    const operation = getOperationAST(parse(query));
    const plan = operation && compilePlan(schema, operation, {});
    const scenario: Scenario = { name: `graphql ${name}`, url: base, requests: [], bare: [] };
    for (const one of variables) {
      const request = {
        method: "POST" as const,
        path: "/graphql",
        headers,
        body: JSON.stringify({ query, variables: one }),
      };
      await ask(request);
      const body = await ask(request);
      heard = [];
      await plan?.prepare(one)?.run(services, caller);
      scenario.requests.push(request);
      scenario.bare.push(await bareOf(body, columns));
    }
    return scenario;
  }

  async function rest(
    name: string,
    paths: string[],
    run: (index: number) => Promise<unknown>,
    column = "items",
  ): Promise<Scenario> {
    const scenario: Scenario = { name: `rest ${name}`, url: base, requests: [], bare: [] };
    for (const [index, path] of paths.entries()) {
      const request = { method: "GET" as const, path, headers: { Authorization: key } };
      const body = await ask(request);
      heard = [];
      await run(index);
      scenario.requests.push(request);
      scenario.bare.push(await bareOf(body, [column]));
    }
    return scenario;
  }

  const owners = accounts.rows.map((row) => hex(row.owner));
  const contractAddresses = contracts.rows.map((row) => hex(row.address));
  const tokens: string[] = [];
  for (const row of contracts.rows) {
    const { rows } = await client.query(
      "SELECT token_id FROM nft.tokens WHERE chain_id = 31337 AND contract = $1 AND supply > 0 ORDER BY token_id OFFSET $2 LIMIT 1",
      [row.address, Math.floor(Number(row.token_count) / 2)],
    );
    tokens.push(String(rows[0].token_id));
  }
  const page = { size: 50 };
  const show = { metadata: true, contract: true, fileInformation: true, dates: true };
  const shared = { chain: "goerli" };
  const deep = await deepCursors(contractAddresses);

  async function deepCursors(contractsOfPages: string[]): Promise<(string | null)[]> {
    return await Promise.all(
      contractsOfPages.map(async (contract, index) => {
        const pages = Math.floor(Number(contracts.rows[index].token_count) / 100);
        const path = `/v0/nfts/${contract}?chain=goerli&page_number=${pages}`;
        return JSON.parse(await ask({ method: "GET", path, headers: { Authorization: key } })).continuation;
      }),
    );
  }

  return [
    {
      ...(await graphql(
        "account page",
        queries.account,
        owners.map((a) => ({ a })),
      )),
      peers: peersOf(owners, {
        postgraphile: postgraphile("held", "account"),
        mercurius: mercurius("account"),
        ponder: ponder("owner: $a"),
      }),
    },
    await graphql(
      "whale page",
      queries.account,
      whales.rows.map((row) => ({ a: hex(row.owner) })),
    ),
    await rest(
      "account page",
      owners.map((a) => `/v0/accounts/${a}?chain=goerli&include=metadata&include=contract_information`),
      (index) =>
        accountPage(services, caller, {
          ...shared,
          account: owners[index] ?? "",
          exclude: [],
          page,
          shape: accountItemShape(show),
        }),
    ),
    {
      ...(await graphql(
        "contract page",
        queries.contract,
        contractAddresses.map((c) => ({ c })),
      )),
      peers: peersOf(contractAddresses, {
        postgraphile: postgraphile("minted", "address"),
        mercurius: mercurius("contract"),
        ponder: ponder("contract: $a"),
      }),
    },
    await graphql(
      "deep page",
      queries.contract,
      contractAddresses.map((c, index) => ({ c, after: deep[index] })),
    ),
    await rest(
      "contract page",
      contractAddresses.map((c) => `/v0/nfts/${c}?chain=goerli&include=metadata`),
      (index) =>
        contractPage(services, caller, {
          ...{ ...shared, contract: contractAddresses[index] ?? "", page, contractMembers },
          shape: listItemShape({ metadata: true, contract: false, fileInformation: false, dates: false }),
        }),
    ),
    await graphql("chain page", queries.chain, [{}]),
    await graphql(
      "trait filter",
      queries.traits,
      contractAddresses.map((c, index) => ({ c, v: [String(index % 20)] })),
    ),
    await graphql(
      "nested query",
      queries.nested,
      contractAddresses.map((c, index) => ({ c, a: owners[index % owners.length], t: tokens[index] })),
      ["item", "items", "items"],
    ),
    await graphql(
      "detail",
      queries.detail,
      contractAddresses.map((c, index) => ({ c, t: tokens[index] })),
      ["item"],
    ),
    await rest(
      "detail",
      contractAddresses.map((c, index) => `/v0/nfts/${c}/${tokens[index]}?chain=goerli`),
      (index) =>
        nftDetails(services, caller, {
          ...{ chain: "goerli", contract: contractAddresses[index] ?? "", tokenId: BigInt(tokens[index] ?? 0) },
          ...{ shape: detailsShape, contractMembers },
        }),
      "item",
    ),
  ];
}
