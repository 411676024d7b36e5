// mercurius with jit, one statement per page: pg reads rows, the GraphQL layers write them. Started by bench-reads.ts.
import Fastify from "fastify";
import mercurius from "mercurius";
import pg from "pg";

const schema = `
  type Contract { address: String! name: String symbol: String standard: String description: String }
  type Nft { chain: String! contractAddress: String! tokenId: String! standard: String! owner: String amount: String
    creator: String mintedAt: String name: String description: String metadataUrl: String metadata: String
    fileUrl: String animationUrl: String cachedFileUrl: String metadataUpdatedAt: String contract: Contract }
  type Page { nodes: [Nft!]! hasNextPage: Boolean! totalCount: Int }
  type Query { account(address: String!, first: Int = 50): Page contract(address: String!, first: Int = 50): Page }`;
const select = `SELECT t.*, m.name, m.description, m.token_uri, m.metadata, m.image, m.animation_url, m.cached_image,
  m.fetched_at, c.standard AS c_standard, c.name AS c_name, c.symbol AS c_symbol, c.description AS c_description FROM`;
const joins = `JOIN peer.metadata m ON m.contract = t.contract AND m.token_id = t.token_id
  JOIN peer.contract c ON c.address = t.contract ORDER BY t.contract, t.token_id`;
const pool = new pg.Pool({ connectionString: process.argv[2], max: 10 });
const hex = (bytes) => bytes && `0x${bytes.toString("hex")}`;

async function page(name, condition, address, first, total) {
  const bytes = Buffer.from(address.slice(2), "hex");
  const [{ rows }, counted] = await Promise.all([
    pool.query({
      name,
      text: `${select} (SELECT * FROM peer.token WHERE ${condition} ORDER BY contract, token_id LIMIT $2) t ${joins}`,
      values: [bytes, first + 1],
    }),
    pool.query({ name: `${name}-total`, text: total, values: [bytes] }),
  ]);
  return {
    nodes: rows.slice(0, first).map(node),
    hasNextPage: rows.length > first,
    totalCount: counted.rows[0]?.n ?? 0,
  };
}

function node(row) {
  return {
    chain: "goerli",
    contractAddress: hex(row.contract),
    tokenId: row.token_id,
    standard: row.standard,
    owner: hex(row.owner),
    amount: "1",
    creator: hex(row.creator),
    mintedAt: new Date(Number(row.mint_timestamp) * 1000).toISOString(),
    name: row.name,
    description: row.description,
    metadataUrl: row.token_uri,
    metadata: row.metadata,
    fileUrl: row.image,
    animationUrl: row.animation_url,
    cachedFileUrl: row.cached_image,
    metadataUpdatedAt: row.fetched_at.toISOString(),
    contract: {
      address: hex(row.contract),
      name: row.c_name,
      symbol: row.c_symbol,
      standard: row.c_standard,
      description: row.c_description,
    },
  };
}

const app = Fastify();
const totals = {
  account:
    "SELECT coalesce(sum(holding_count), 0)::int AS n FROM nft.account_totals WHERE chain_id = 31337 AND owner = $1",
  contract: "SELECT token_count::int AS n FROM nft.contracts WHERE chain_id = 31337 AND address = $1",
};
await app.register(mercurius, {
  schema,
  jit: 1,
  resolvers: {
    Query: {
      account: (_, { address, first }) => page("account", "owner = $1", address, first, totals.account),
      contract: (_, { address, first }) =>
        page("contract", "contract = $1 AND supply > 0", address, first, totals.contract),
    },
  },
});
process.on("disconnect", () => process.exit(0));
await app.listen({ port: 0, host: "127.0.0.1" });
process.send?.({ port: app.server.address().port });
