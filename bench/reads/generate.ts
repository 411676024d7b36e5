import type pg from "pg";
import { readIndexStatements } from "../../schema/read-indexes.ts";
import { migrate } from "../../src/db/admin/migrate.ts";
import { connect, ensureNftViews } from "../../src/indexing/nft-views.ts";
import { ensureRendering } from "../../src/nfts/rendered.ts";
import { createLedger } from "../../test/indexing/ledger-fixture.ts";

export interface DataSize {
  tokens: number;
  contracts: number;
  accounts: number;
}

export const benchChainId = 31337;
const schema = `c${benchChainId}_bench`;
const rowsPerStatement = 100_000;

/** A pseudo-random number from 0 to 1 that depends on `expression` only. */
const unit = (salt: string, expression: string) =>
  `(('x' || substr(md5('${salt}' || ${expression}), 1, 8))::bit(32)::bigint / 4294967296.0)`;
const address = (salt: string, expression: string) =>
  `decode(md5('${salt}' || ${expression}) || substr(md5('${salt}+' || ${expression}), 1, 8), 'hex')`;

/**
 * Fills an empty database: mints and transfers through the real ledger and its triggers, set-wise. A few contracts and
 * accounts have very many; every twentieth contract is ERC-1155.
 */
export async function generate(url: string, size: DataSize, say: (line: string) => void): Promise<void> {
  await migrate(url);
  await ensureNftViews(url);
  await ensureRendering(url);
  const client = await connect(url, "bench-generate");
  try {
    await client.query("SET synchronous_commit = off; SET maintenance_work_mem = '512MB'; SET work_mem = '128MB'");
    await client.query("CREATE TABLE IF NOT EXISTS public.bench_step (name text PRIMARY KEY)");
    // An hour's work must not be repeated because the next step failed.
    const once = async (name: string, step: () => Promise<unknown>) => {
      const { rowCount } = await client.query("SELECT FROM public.bench_step WHERE name = $1", [name]);
      if (rowCount) return;
      await step();
      await client.query("INSERT INTO public.bench_step VALUES ($1)", [name]);
      say(name);
    };
    await once("tables", () => createTables(client));
    await once("movements", () => addMovements(client, size, say));
    await once("metadata", () => addMetadata(client));
    await once("traits", () => addTraits(client));
    await once("contracts", () => addContracts(client));
    for (const statement of readIndexStatements(schema)) await once(statement, () => client.query(statement));
    await once("deployment", () =>
      client.query(
        "INSERT INTO nft.index_version (schema_name, chain_id, genesis_hash, live) VALUES ($1, $2, '0x', true)",
        [schema, benchChainId],
      ),
    );
    await once("statistics", () => client.query("VACUUM (ANALYZE)"));
  } finally {
    await client.end();
  }
  await ensureNftViews(url);
}

async function createTables(client: pg.Client): Promise<void> {
  await createLedger(client, schema);
  await client.query(`CREATE TABLE ${schema}.collection (address bytea, owner bytea, intent_id bytea, factory bytea,
    block_number bigint, block_hash bytea, block_timestamp bigint, tx_hash bytea)`);
  await client.query(`CREATE TABLE ${schema}.metadata_update (block_number bigint, log_index integer,
    block_timestamp bigint, contract bytea, from_token_id numeric(78), to_token_id numeric(78))`);
  await client.query(`CREATE TABLE ${schema}._ponder_checkpoint (latest_checkpoint text)`);
}

async function addMovements(client: pg.Client, size: DataSize, say: (line: string) => void): Promise<void> {
  const { tokens, contracts, accounts } = size;
  const start = Math.floor(Date.now() / 1000) - 80 * 86_400;
  const secondsPerRow = (79 * 86_400) / (tokens * 1.25);
  const movement = (n: string, from: string, to: string, row: string) => `
    SELECT (1000 + ${row} / 50)::bigint, (${row} % 50)::integer, 0, sha256(int8send(${row} / 50)),
      ${start} + ((${row} / 50) * 50 * ${secondsPerRow})::bigint, sha256(int8send(${row})),
      ${address("a", to)}, ${address("c", "c")}, ${n}, ${from}, ${address("a", to)},
      CASE WHEN c % 20 = 0 THEN ${address("a", to)} END, CASE WHEN c % 20 = 0 THEN 1 + ${n} % 9 ELSE 1 END,
      CASE WHEN c % 20 = 0 THEN 'ERC1155' ELSE 'ERC721' END`;
  const contractOf = `floor(${contracts} * power(${unit("c", "n")}, 3))::bigint`;
  const ownerOf = (salt: string) => `floor(${accounts} * power(${unit(salt, "n")}, 3))::bigint`;
  const zero = `'\\x${"00".repeat(20)}'::bytea`;
  for (let low = 0; low < tokens; low += rowsPerStatement) {
    const high = Math.min(low + rowsPerStatement, tokens) - 1;
    await client.query(`INSERT INTO ${schema}.transfer ${movement("n", zero, "o", "n")}
      FROM (SELECT n, ${contractOf} AS c, ${ownerOf("o")} AS o FROM generate_series(${low}::bigint, ${high}::bigint) n) g`);
    say(`${high + 1} of ${tokens} tokens minted`);
  }
  for (let low = 0; low < tokens; low += rowsPerStatement) {
    const high = Math.min(low + rowsPerStatement, tokens) - 1;
    await client.query(`INSERT INTO ${schema}.transfer
      ${movement("n", address("a", "o"), "p", `(${tokens} + n / 4)`)}
      FROM (SELECT n, ${contractOf} AS c, ${ownerOf("o")} AS o, ${ownerOf("p")} AS p
        FROM generate_series(${low}::bigint, ${high}::bigint) n WHERE n % 4 = 0) g WHERE o <> p`);
  }
  say("every fourth token moved");
  const head = String(1000 + Math.ceil((tokens * 1.25) / 50)).padStart(16, "0");
  const time = String(Math.floor(Date.now() / 1000)).padStart(10, "0");
  await client.query(`INSERT INTO ${schema}._ponder_checkpoint VALUES ($1)`, [
    `${time}${"0".repeat(16)}${head}${"0".repeat(33)}`,
  ]);
}

const trait = (name: string, values: number) => `floor(${values} * ${unit(name, "t.token_id")})::int`;

async function addMetadata(client: pg.Client): Promise<void> {
  await client.query(`ALTER TABLE service.token_metadata DISABLE TRIGGER USER;
    ALTER TABLE service.token_metadata ENABLE TRIGGER render_token_metadata`);
  await client.query(`INSERT INTO service.token_metadata (chain_id, contract, token_id, status, next_attempt_at,
      fetched_at, token_uri, metadata, name, description, image)
    SELECT ${benchChainId}, t.contract, t.token_id, 'fresh', NULL, now(), 'ipfs://' || g.cid || '/' || t.token_id,
      '{"name":"Piece #' || t.token_id || '","description":"' || g.words || '","image":"ipfs://' || g.cid || '/'
        || t.token_id || '.png","attributes":[{"trait_type":"Fur","value":"' || ${trait("Fur", 8)}
        || '"},{"trait_type":"Hat","value":"' || ${trait("Hat", 20)} || '"},{"trait_type":"Level","value":'
        || ${trait("Level", 100)} || '}]}',
      'Piece #' || t.token_id, g.words, 'ipfs://' || g.cid || '/' || t.token_id || '.png'
    FROM ${schema}.token t CROSS JOIN LATERAL (SELECT 'bafybei' || md5(t.contract::text) || 'qqqqqqqqqqqqqqqqqqqq' AS cid,
      'A piece of collection ' || left(md5(t.contract::text), 6) || ', drawn by hand and numbered once' AS words) g`);
  await client.query("ALTER TABLE service.token_metadata ENABLE TRIGGER USER");
  // What `service.search_words` makes of such texts, except for words like 61e5eb, in a tenth of the time.
  await client.query(`INSERT INTO service.token_words
    SELECT chain_id, contract, token_id, to_tsvector('simple', name || ' ' || description) FROM service.token_metadata`);
}

/** What the trigger on documents would have written, set-wise. Indexes are created last, which is many times faster. */
async function addTraits(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ definition: string; name: string; constrained: boolean }>(
    `SELECT pg_get_indexdef(i.indexrelid) AS definition, c.relname AS name, i.indisprimary AS constrained
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = 'service.token_trait'::regclass`,
  );
  for (const { name, constrained } of rows) {
    await client.query(
      constrained ? `ALTER TABLE service.token_trait DROP CONSTRAINT ${name}` : `DROP INDEX service.${name}`,
    );
  }
  await client.query(`INSERT INTO service.token_trait (chain_id, contract, name, value, token_id, number)
    SELECT ${benchChainId}, t.contract, v.name, v.value::text, t.token_id, v.value
    FROM ${schema}.token t CROSS JOIN LATERAL (VALUES ('Fur', ${trait("Fur", 8)}), ('Hat', ${trait("Hat", 20)}),
      ('Level', ${trait("Level", 100)})) v (name, value)`);
  for (const { name, definition, constrained } of rows) {
    await client.query(definition);
    if (constrained) await client.query(`ALTER TABLE service.token_trait ADD PRIMARY KEY USING INDEX ${name}`);
  }
}

async function addContracts(client: pg.Client): Promise<void> {
  await client.query(`INSERT INTO service.contract_metadata (chain_id, address, status, next_attempt_at, name, symbol)
    SELECT ${benchChainId}, address, 'fresh', NULL, 'Collection ' || left(md5(address::text), 6), 'COL'
    FROM ${schema}.contract`);
}
