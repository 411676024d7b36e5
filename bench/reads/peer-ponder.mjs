// Ponder's own GraphQL (in the version that the service indexes with) over the views of peers.sql, assembled as its
// middleware does: yoga, its schema, its data loaders. Started by bench-reads.ts.
import { createServer } from "node:http";
import { relations } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { createYoga } from "graphql-yoga";
import { onchainTable, primaryKey } from "ponder";

const main = (path) => import(new URL(`../../node_modules/${path}`, import.meta.url).href);
const { buildDataLoaderCache, buildGraphQLSchema } = await main("ponder/dist/esm/graphql/index.js");
// drizzle's own instance of pg, to set its parsers.
const { default: pg } = await main("pg/lib/index.js");

const token = onchainTable(
  "token",
  (t) => ({
    contract: t.text().notNull(),
    tokenId: t.bigint("token_id").notNull(),
    standard: t.text().notNull(),
    owner: t.text(),
    supply: t.numeric().notNull(),
    creator: t.text(),
    mintTimestamp: t.bigint("mint_timestamp"),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.contract, table.tokenId] }) }),
);
const metadata = onchainTable(
  "metadata",
  (t) => ({
    contract: t.text().notNull(),
    tokenId: t.bigint("token_id").notNull(),
    name: t.text(),
    description: t.text(),
    tokenUri: t.text("token_uri"),
    metadata: t.text(),
    image: t.text(),
    animationUrl: t.text("animation_url"),
    cachedImage: t.text("cached_image"),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.contract, table.tokenId] }) }),
);
const contract = onchainTable("contract", (t) => ({
  address: t.text().primaryKey(),
  standard: t.text().notNull(),
  name: t.text(),
  symbol: t.text(),
  description: t.text(),
}));
const tokenRelations = relations(token, ({ one }) => ({
  document: one(metadata, {
    fields: [token.contract, token.tokenId],
    references: [metadata.contract, metadata.tokenId],
  }),
  record: one(contract, { fields: [token.contract], references: [contract.address] }),
}));
const schema = { token, metadata, contract, tokenRelations };
// Bytes are passed both ways as PostgreSQL's text (`\\x…`), so that PostgreSQL's own indexes serve these queries.
pg.types.setTypeParser(pg.types.builtins.BYTEA, (text) => text);
const pool = new pg.Pool({ connectionString: process.argv[2], max: 10, options: "-c search_path=peer" });
const raw = drizzle(pool, { schema, casing: "snake_case" });
const qb = { raw, wrap: (run) => run(raw) };
const yoga = createYoga({
  schema: buildGraphQLSchema({ schema }),
  graphqlEndpoint: "/graphql",
  context: () => ({ qb, getDataLoader: buildDataLoaderCache(qb) }),
  logging: false,
  graphiql: false,
  maskedErrors: false,
  parserAndValidationCache: false,
});
const server = createServer(yoga);
process.on("disconnect", () => process.exit(0));
server.listen(0, "127.0.0.1", () => process.send?.({ port: server.address().port }));
