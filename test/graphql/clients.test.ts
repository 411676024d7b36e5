import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ApolloClient, gql as apolloGql, HttpLink, InMemoryCache } from "@apollo/client";
import { PersistedQueryLink } from "@apollo/client/link/persisted-queries";
import { relayStylePagination } from "@apollo/client/utilities";
import { Client, fetchExchange, gql } from "@urql/core";
import { cacheExchange } from "@urql/exchange-graphcache";
import { relayPagination } from "@urql/exchange-graphcache/extras";
import { getIntrospectionQuery } from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiServer } from "../setup/api-server.ts";
import { addressOf, nobody } from "../setup/nft-fixture.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

// Caches and compilers of the common clients against the real schema over real HTTP: pages are merged, entities
// are found again by their ids, and what one account holds of a token does not show up in another's list.
const [keys, potions, alice, bob] = [0xa1, 0xb2, 0x11, 0x22].map(addressOf) as [string, string, string, string];
const schemaPath = new URL("../../schema/schema.graphql", import.meta.url).pathname;
let api: ApiServer;
let key: string;

beforeAll(async () => {
  api = await ApiServer.start();
  const mint = { from: nobody, to: alice };
  await api.nfts.add([1n, 2n, 3n, 4n, 5n].map((tokenId) => ({ contract: keys, tokenId, ...mint })));
  await api.nfts.add([
    { contract: potions, tokenId: 9n, ...mint, amount: 7n, standard: "ERC1155" },
    { contract: potions, tokenId: 9n, from: nobody, to: bob, amount: 2n, standard: "ERC1155" },
  ]);
  key = (await api.account("enterprise")).key;
});
afterAll(() => api?.close());

const pageQuery = `query Page($who: Address!, $after: String) {
  account(address: $who) { __typename id
    nfts(chain: "goerli", first: 2, after: $after) { __typename
      edges { __typename cursor amount node { __typename id tokenId name contract { __typename id name } } }
      pageInfo { __typename hasNextPage hasPreviousPage startCursor endCursor } } } }`;
const detailQuery = `query Detail($id: ID!) { node(id: $id) { __typename id ... on Nft { tokenId name } } }`;

interface PageData {
  account: {
    nfts: {
      edges: { amount: string; node: { id: string; tokenId: string; name: string | null } }[];
      pageInfo: { hasNextPage: boolean; endCursor: string };
    };
  };
}
interface DetailData {
  node: { id: string; tokenId: string; name: string | null };
}

async function rename(name: string): Promise<void> {
  await api.database.pool.query(
    `INSERT INTO service.token_metadata (chain_id, contract, token_id, status, name)
     VALUES (31337, decode(repeat('a1', 20), 'hex'), 2, 'fresh', $1)
     ON CONFLICT (chain_id, contract, token_id) DO UPDATE SET name = excluded.name`,
    [name],
  );
}

test("urql's normalized cache merges pages, finds a token again by its id and keeps accounts apart", async () => {
  const complaints: string[] = [];
  // The document that the server itself gives, as graphcache's readers are told to fetch it.
  const { body } = await api.graphql(key, getIntrospectionQuery({ descriptions: false }));
  const client = new Client({
    url: `${api.url}/graphql`,
    fetchOptions: { headers: { Authorization: key } },
    preferGetMethod: false,
    exchanges: [
      cacheExchange({
        schema: body.data,
        keys: { NftConnection: () => null, NftEdge: () => null },
        resolvers: { Account: { nfts: relayPagination() } },
        logger: (severity, message) => {
          if (severity !== "debug") complaints.push(message);
        },
      }),
      fetchExchange,
    ],
  });
  const read = async (
    who: string,
    after: string | null,
    requestPolicy: "cache-first" | "cache-only" = "cache-first",
  ) => {
    const { data, error } = await client.query<PageData>(gql(pageQuery), { who, after }, { requestPolicy }).toPromise();
    expect(error).toBeUndefined();
    return data?.account.nfts;
  };
  const first = await read(alice, null);
  expect(first?.edges.map(({ node }) => node.tokenId)).toEqual(["1", "2"]);
  const all = await read(alice, first?.pageInfo.endCursor ?? null);
  expect(all?.edges.map(({ node }) => node.tokenId)).toEqual(["1", "2", "3", "4"]);
  const last = await read(alice, all?.pageInfo.endCursor ?? null);
  expect(last?.edges.map(({ amount }) => amount)).toEqual(["1", "1", "1", "1", "1", "7"]);
  expect((await read(bob, null))?.edges.map(({ amount }) => amount)).toEqual(["2"]);
  expect((await read(alice, null, "cache-only"))?.edges.map(({ amount }) => amount)).toEqual([
    "1",
    "1",
    "1",
    "1",
    "1",
    "7",
  ]);

  await rename("from urql");
  const id = first?.edges[1]?.node.id ?? "";
  const { data } = await client
    .query<DetailData>(gql(detailQuery), { id }, { requestPolicy: "network-only" })
    .toPromise();
  expect(data?.node.name).toBe("from urql");
  expect((await read(alice, null, "cache-only"))?.edges[1]?.node.name).toBe("from urql");
  expect(complaints).toEqual([]);
});

test("Apollo's cache merges pages, finds a token again by its id and keeps accounts apart", async () => {
  const client = new ApolloClient({
    link: new HttpLink({ uri: `${api.url}/graphql`, headers: { Authorization: key } }),
    cache: new InMemoryCache({
      typePolicies: { Account: { fields: { nfts: relayStylePagination(["chain", "contract", "exclude"]) } } },
    }),
  });
  const [page, detail] = [apolloGql(pageQuery), apolloGql(detailQuery)];
  const cached = (who: string) => client.readQuery<PageData>({ query: page, variables: { who } })?.account.nfts;
  let after: string | null = null;
  for (let step = 0; step < 3; step += 1) {
    const { data }: { data?: PageData | undefined } = await client.query<PageData>({
      query: page,
      variables: { who: alice, after },
      fetchPolicy: "network-only",
    });
    after = data?.account.nfts.pageInfo.endCursor ?? null;
  }
  expect(cached(alice)?.edges.map(({ node }) => node.tokenId)).toEqual(["1", "2", "3", "4", "5", "9"]);
  await client.query({ query: page, variables: { who: bob } });
  expect(cached(alice)?.edges.map(({ amount }) => amount)).toEqual(["1", "1", "1", "1", "1", "7"]);
  expect(cached(bob)?.edges.map(({ amount }) => amount)).toEqual(["2"]);

  await rename("from apollo");
  const id = cached(alice)?.edges[1]?.node.id ?? "";
  await client.query<DetailData>({ query: detail, variables: { id }, fetchPolicy: "network-only" });
  expect(cached(alice)?.edges[1]?.node.name).toBe("from apollo");
  client.stop();
});

test("Apollo's persisted queries: a document is sent once, then its hash; what the server forgot is sent again", async () => {
  const bodies: string[] = [];
  const uri = `${api.url}/graphql`;
  const link = new PersistedQueryLink({ sha256: (text) => createHash("sha256").update(text).digest("hex") }).concat(
    new HttpLink({
      uri,
      headers: { Authorization: key },
      fetch: (to, init) => {
        bodies.push(String(init?.body));
        return fetch(to, init);
      },
    }),
  );
  const client = new ApolloClient({ link, cache: new InMemoryCache() });
  const owner = apolloGql`query Owner($token: TokenId!) { nft(chain: "goerli", contract: "${keys}", tokenId: $token) { owner } }`;
  for (const token of ["1", "2", "3"]) {
    const { data } = await client.query<{ nft: { owner: string } }>({ query: owner, variables: { token } });
    expect(data?.nft.owner.toLowerCase()).toBe(alice);
  }
  // Unknown, then with the document, then twice by the hash alone.
  expect(bodies.map((body) => body.includes("query Owner"))).toEqual([false, true, false, false]);
  client.stop();
});

test("a hash of another document is refused with what to change, and the right one works afterwards", async () => {
  const query = "{ viewer { charges { __typename } } }";
  const ask = (sha256Hash: unknown, text?: string) =>
    api.send("POST", "/graphql", key, {
      ...(text ? { query: text } : {}),
      extensions: { persistedQuery: { version: 1, sha256Hash } },
    });
  const hash = createHash("sha256").update(query).digest("hex");
  const wrong = await ask(hash, "{ viewer { id } }");
  expect([wrong.status, wrong.body.errors[0].extensions.code]).toEqual([400, "PERSISTED_QUERY_HASH_MISMATCH"]);
  expect(wrong.body.errors[0].extensions.fix).toContain("SHA-256");
  const unknown = await ask(hash);
  expect([unknown.status, unknown.body.errors[0].message]).toEqual([200, "PersistedQueryNotFound"]);
  expect((await ask(hash.toUpperCase())).body.errors[0].extensions.code).toBe("PERSISTED_QUERY_NOT_FOUND");
  expect((await ask(7)).body.errors[0].extensions.code).toBe("PERSISTED_QUERY_NOT_SUPPORTED");
  // Neither remembered, so that nobody fills the memory, nor taken for a fault of the server.
  const long = `{ __typename } # ${"x".repeat(10_000)}`;
  const longHash = createHash("sha256").update(long).digest("hex");
  expect((await ask(longHash, long)).body.data).toBeTruthy();
  expect((await ask(longHash)).body.errors[0].message).toBe("PersistedQueryNotFound");
  const number = await api.send("POST", "/graphql", key, {
    query: 7,
    extensions: { persistedQuery: { version: 1, sha256Hash: hash } },
  });
  expect([number.status, number.body.errors[0].extensions.code]).not.toContain("internal_error");
  expect((await ask(hash, query)).body.data).toBeTruthy();
  expect((await ask(hash)).body.data).toBeTruthy();
});

test("Relay's compiler takes the schema: connections that page, fragments that refetch a node", async () => {
  const folder = temporaryFolder();
  const config = {
    src: ".",
    schema: "schema.graphql",
    language: "typescript",
    artifactDirectory: "out",
    eagerEsModules: true,
  };
  await writeFile(join(folder, "relay.config.json"), JSON.stringify(config));
  await writeFile(join(folder, "schema.graphql"), await readFile(schemaPath));
  await writeFile(
    join(folder, "app.ts"),
    `declare const graphql: (text: TemplateStringsArray) => unknown;
    export const query = graphql\`query appQuery($who: Address!) { account(address: $who) { address ...app_nfts } }\`;
    export const list = graphql\`fragment app_nfts on Account
      @refetchable(queryName: "appNextQuery")
      @argumentDefinitions(count: { type: "Int", defaultValue: 20 }, cursor: { type: "String" }) {
      nfts(chain: "goerli", first: $count, after: $cursor) @connection(key: "app_nfts") {
        edges { amount node { ...app_token } } totalCount } }\`;
    export const token = graphql\`fragment app_token on Nft @refetchable(queryName: "appTokenQuery") {
      id name metadata contract { id name } }\`;
    export const holders = graphql\`query appHoldersQuery($c: Address!, $n: Int, $after: String) {
      contract(chain: "goerli", address: $c) { holders(first: $n, after: $after) @connection(key: "app_holders") {
        edges { node { address amount } } } } }\`;\n`,
  );
  await mkdir(join(folder, "out"));
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [new URL("../../node_modules/relay-compiler/cli.js", import.meta.url).pathname, "relay.config.json"],
    { cwd: folder },
  );
  expect(`${stdout}${stderr}`).not.toMatch(/error/i);
  for (const name of ["appQuery", "appNextQuery", "appTokenQuery", "appHoldersQuery", "app_nfts", "app_token"]) {
    expect(await readFile(join(folder, "out", `${name}.graphql.ts`), "utf8")).toContain(name);
  }
  // What the compiler made of the refetch is a document that this server answers.
  const compiled = await readFile(join(folder, "out", "appNextQuery.graphql.ts"), "utf8");
  const text = JSON.parse(/"text": (".*")/.exec(compiled)?.[1] ?? '""');
  const id = Buffer.from(`Account:${alice}`).toString("base64url");
  const { body } = await api.graphql(key, text, { id, count: 2 });
  expect(body.data.node.nfts.edges).toHaveLength(2);
});
