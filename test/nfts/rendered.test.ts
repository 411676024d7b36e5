import { afterAll, beforeAll, expect, test } from "vitest";
import { contractPass, passOver, tokenPass } from "../../src/nfts/render-again.ts";
import { ensureRendering, tokenRendering } from "../../src/nfts/rendered.ts";
import { createIndexedDatabase, type TestDatabase } from "../setup/database.ts";
import { addressOf, type NftFixture, nobody } from "../setup/nft-fixture.ts";
import { openReadApis, type ReadApis } from "../setup/read-apis.ts";
import { SeededGenerator } from "../setup/seeded-generator.ts";

const contracts = [0xa1, 0xb2, 0xc3].map(addressOf);
const alice = addressOf(0x11);
const tokens = contracts.flatMap((contract) => [1n, 2n, 3n, 4n].map((tokenId) => ({ contract, tokenId })));
const writes = 1_000;

let database: TestDatabase;
let chain: NftFixture;
let apis: ReadApis;
beforeAll(async () => {
  const indexed = await createIndexedDatabase([31337]);
  database = indexed.database;
  chain = indexed.nfts[0] as NftFixture;
  await chain.add(tokens.map((token) => ({ ...token, from: nobody, to: alice })));
  apis = openReadApis(database);
});
afterAll(() => database?.drop());

const seed = Number(process.env["RENDER_SEED"] ?? Date.now() % 2 ** 31);
const generator = new SeededGenerator(seed);
const random = generator.below;
const pick = <T>(values: readonly T[]): T => generator.pick(values);
const texts = [
  null,
  "",
  "plain",
  'quo"te \\ \n\t \u0007',
  "umlaut ä 😀 \u2028",
  "x".repeat(16_384),
  "y".repeat(16_385),
];
const links = [...texts, "https://a.example/1", "IPFS://b", `data:,${"z".repeat(20_000)}`, "ar:", "ftp://c"];
const bytes = (hex: string) => Buffer.from(hex.slice(2), "hex");

async function write(step: number): Promise<void> {
  const { contract, tokenId } = pick(tokens);
  const { pool } = database;
  const kind = random(10);
  if (kind < 5) {
    const file = random(2) === 0 ? [random(9), random(9), random(9)] : [null, random(9), null];
    await pool.query(
      `INSERT INTO service.token_metadata (chain_id, contract, token_id, status, name, description, token_uri, image,
         animation_url, cached_image, metadata, file_width, file_height, file_size, fetched_at)
       VALUES (31337, $1, $2, 'fresh', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, to_timestamp($13::double precision))
       ON CONFLICT (chain_id, contract, token_id) DO UPDATE SET name = excluded.name, description = excluded.description,
         token_uri = excluded.token_uri, image = excluded.image, animation_url = excluded.animation_url,
         cached_image = excluded.cached_image, metadata = excluded.metadata, file_width = excluded.file_width,
         file_height = excluded.file_height, file_size = excluded.file_size, fetched_at = excluded.fetched_at`,
      [
        ...[
          bytes(contract),
          String(tokenId),
          pick(texts),
          pick(texts),
          pick(texts),
          pick(links),
          pick(texts),
          pick(texts),
        ],
        ...[JSON.stringify({ step, text: pick(texts) }), ...file, random(2) === 0 ? null : 1.7e9 + step + 0.123456],
      ],
    );
  } else if (kind < 6) {
    await pool.query(
      `INSERT INTO service.contract_metadata (chain_id, address, name, symbol, thumbnail_url, royalty_bps) VALUES (31337, $1, $2, $3, $4, $5)
       ON CONFLICT (chain_id, address) DO UPDATE SET name = excluded.name, symbol = excluded.symbol, thumbnail_url = excluded.thumbnail_url,
         royalty_bps = excluded.royalty_bps`,
      [bytes(contract), pick(texts), pick(texts), pick(texts), pick([null, 0, 725])],
    );
  } else if (kind < 7) {
    const column = pick(["name", "file_width", "cached_animation", "status", "image"]);
    const value = column === "file_width" ? random(9) : column === "status" ? pick(["pending", "failed"]) : pick(texts);
    await pool.query(
      `UPDATE service.token_metadata SET ${column} = $3 WHERE chain_id = 31337 AND contract = $1 AND token_id = $2`,
      [bytes(contract), String(tokenId), value],
    );
  } else if (kind < 8) {
    // The version before, and a writer without a trigger.
    await pool.query(
      `UPDATE service.token_metadata SET rendered = 'old', rendered_as = 'another' WHERE contract = $1 AND token_id = $2`,
      [bytes(contract), String(tokenId)],
    );
  } else if (kind < 9) {
    const table = pick(["service.token_metadata", "service.contract_metadata"]);
    await pool.query(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
    await pool.query(`UPDATE ${table} SET name = $1, rendered_as = 'another', rendered = 'old'`, [pick(texts)]);
    await pool.query(`ALTER TABLE ${table} ENABLE TRIGGER USER`);
  } else {
    await pool.query("DELETE FROM service.token_metadata WHERE contract = $1 AND token_id = $2", [
      bytes(contract),
      String(tokenId),
    ]);
  }
}

/** What lists show of a text. */
const listed = (text: string | null) => (text !== null && Buffer.byteLength(text) > 16_384 ? null : text);

interface PictureRow {
  cached_image: string | null;
  image: string | null;
  of_contract: string;
  id: string;
}

function previewOf({ cached_image: own, image, of_contract: contract, id }: PictureRow): string | null {
  const base = "https://mintyard.test/thumbnails/512";
  if (own !== null) return `${base}/${own}`;
  const isLinked = /^(ipfs|http|https|ar|data):/i.test(image ?? "");
  return isLinked ? `${base}/nfts/goerli/0x${contract}/${id}` : null;
}

/** What the tables say, without any of the code that answers. */
async function recomputed() {
  const { rows } = await database.pool.query(
    `SELECT m.*, encode(t.contract, 'hex') AS of_contract, t.token_id AS id, c.name AS contract_name, c.symbol, c.thumbnail_url, c.royalty_bps,
       to_char(m.fetched_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS') AS fetched
     FROM nft.tokens t LEFT JOIN service.token_metadata m USING (chain_id, contract, token_id)
     LEFT JOIN service.contract_metadata c ON c.address = t.contract ORDER BY t.contract, t.token_id`,
  );
  return rows.map((row) => {
    const whole = row.file_width !== null && row.file_height !== null && row.file_size !== null;
    return {
      ...{ contractAddress: `0x${row.of_contract}`, tokenId: String(row.id), name: listed(row.name) },
      ...{ description: listed(row.description), metadataUrl: listed(row.token_uri), fileUrl: listed(row.image) },
      animationUrl: listed(row.animation_url),
      cachedFileUrl: row.cached_image === null ? null : `https://mintyard.test/ipfs/${row.cached_image}`,
      thumbnailUrl: previewOf(row),
      cachedAnimationUrl: row.cached_animation === null ? null : `https://mintyard.test/ipfs/${row.cached_animation}`,
      metadata: row.metadata === null ? null : JSON.parse(row.metadata),
      fileInformation: whole
        ? { width: row.file_width, height: row.file_height, sizeBytes: Number(row.file_size) }
        : null,
      metadataUpdatedAt: row.fetched === null ? null : `${row.fetched.replace(" ", "T")}Z`,
      metadataStatus: (row.status ?? "pending").toUpperCase(),
      contract: {
        ...{ name: listed(row.contract_name), symbol: listed(row.symbol), thumbnailUrl: listed(row.thumbnail_url) },
        royaltyBps: row.royalty_bps,
      },
    };
  });
}

const fields = `contractAddress tokenId name description metadataUrl fileUrl animationUrl cachedFileUrl thumbnailUrl cachedAnimationUrl
  metadata fileInformation { width height sizeBytes } metadataUpdatedAt metadataStatus contract { name symbol thumbnailUrl royaltyBps }`;

async function compare(): Promise<void> {
  const expected = await recomputed();
  const { data } = await apis.graphql(
    `{ account(address: "${alice}") { nfts(chain: "goerli", first: 50) { nodes { ${fields} } } } }`,
  );
  expect(data.account.nfts.nodes).toEqual(expected);
  const rest = await apis.v0(`/accounts/${alice}?chain=goerli&include=metadata&include=contract_information`);
  expect(
    rest.body.nfts.map((nft: Record<string, { name: string }>) => [
      ...[
        nft["token_id"],
        nft["name"],
        nft["file_url"],
        nft["cached_file_url"],
        nft["metadata"],
        nft["contract"]?.name,
      ],
    ]),
  ).toEqual(
    expected.map((nft) => [
      ...[nft.tokenId, nft.name, nft.fileUrl, nft.cachedFileUrl, nft.metadata, nft.contract.name],
    ]),
  );
}

test(`${writes} random writes: answers are what the tables say (RENDER_SEED=${seed})`, async () => {
  for (let step = 0; step < writes; step += 1) {
    await write(step);
    if (step % 20 === 0) await compare();
  }
  await compare();
  const [{ contract, tokenId }] = tokens as [(typeof tokens)[number]];
  await database.pool.query(
    `INSERT INTO service.token_metadata (chain_id, contract, token_id, name) VALUES (31337, $1, $2, $3)
     ON CONFLICT (chain_id, contract, token_id) DO UPDATE SET name = excluded.name`,
    [bytes(contract), String(tokenId), texts.at(-1)],
  );
  const { data } = await apis.graphql(
    `{ nft(chain: "goerli", contract: "${contract}", tokenId: "${tokenId}") { name } }`,
  );
  expect(data.nft.name).toBe(texts.at(-1));
});

test("rows of another version are rendered again, once, and answers stay the same", async () => {
  const stale =
    "SELECT count(*)::int AS count FROM service.token_metadata WHERE rendered_as NOT LIKE $1 || '%' OR rendered_as IS NULL";
  await database.pool.query("UPDATE service.token_metadata SET name = name");
  await database.pool.query("ALTER TABLE service.token_metadata DISABLE TRIGGER USER");
  await database.pool.query("UPDATE service.token_metadata SET rendered = 'old', rendered_as = 'another'");
  await database.pool.query("ALTER TABLE service.token_metadata ENABLE TRIGGER USER");
  const before = (await database.pool.query(stale, [tokenRendering.hash])).rows[0].count;
  expect(before).toBeGreaterThan(2);
  let batches = 0;
  while (!(await passOver(database.pool, tokenPass, 2)) && batches < 20) batches += 1;
  expect(batches).toBe(Math.floor(before / 2));
  expect((await database.pool.query(stale, [tokenRendering.hash])).rows[0].count).toBe(0);
  expect(await passOver(database.pool, tokenPass, 2)).toBe(true);
  expect(await passOver(database.pool, contractPass)).toBe(true);
  await compare();
});

test("starting again changes nothing", async () => {
  const form = "SELECT oid, xmin::text FROM pg_trigger WHERE tgname LIKE 'render_%' ORDER BY oid";
  const before = (await database.pool.query(form)).rows;
  expect(before).toHaveLength(2);
  await Promise.all([ensureRendering(database.url), ensureRendering(database.url)]);
  expect((await database.pool.query(form)).rows).toEqual(before);
});
